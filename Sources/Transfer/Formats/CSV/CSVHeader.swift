internal import LosslessJSON

/// The columns named by a table's first row.
struct CSVHeader {
    struct Column {
        /// The path as written in the header, for messages.
        let name: String
        let type: CSVColumnType
    }

    struct Member {
        let name: CSVMemberName
        /// The name as JSON with a colon after it.
        let literal: [UInt8]
        /// Index of its column; nil for an object, whose members have columns.
        var column: Int?
        var children: [Int] = []

        init(name: CSVMemberName, column: Int? = nil) {
            self.name = name
            self.column = column
            literal = name.literal + [UInt8(ascii: ":")]
        }
    }

    struct FormatError: Error {
        let description: String
    }

    /// The maximum number of parts of a path.
    private static let maxDepth = 100

    private(set) var columns: [Column] = []
    /// How many cells a row may have. Cells after the last column must be empty: spreadsheets write empty columns.
    let cellCount: Int
    /// The first one stands for the document itself.
    private(set) var members = [Member(name: .empty)]

    /// - Parameter cells: The characters of each cell, unquoted.
    init(_ cells: [[UInt8]]) throws(FormatError) {
        guard cells.count <= CSVColumns.limit else {
            throw FormatError(description: "the header has more than \(CSVColumns.limit) columns")
        }
        cellCount = cells.count
        let named = (cells.lastIndex { !$0.isEmpty } ?? 0) + 1
        for (index, cell) in cells.prefix(named).enumerated() { try add(cell, index) }
    }

    private mutating func add(_ cell: [UInt8], _ index: Int) throws(FormatError) {
        func error(_ what: String) -> FormatError {
            FormatError(description: "column \(index + 1), '\(String(decoding: cell, as: UTF8.self))', \(what)")
        }
        guard String(validating: cell, as: UTF8.self) != nil else { throw error(CSVReader.isNotUTF8) }
        guard !cell.isEmpty else { throw error("has no name; the empty name is written \\e") }
        var rest = cell[...]
        var at = 0
        var depth = 0
        while true {
            guard let name = CSVMemberName.take(from: &rest) else {
                throw error("is not a path; '\\', '.' and ':' in a name need a '\\' before them")
            }
            depth += 1
            guard depth <= Self.maxDepth else { throw error("has more than \(Self.maxDepth) parts") }
            let isLast = rest.first != UInt8(ascii: ".")
            guard let next = child(of: at, named: name, isLast ? index : nil) else {
                throw error("names the same member as another column, or a member inside it; rename one of them")
            }
            at = next
            if isLast { break }
            rest.removeFirst()
        }
        let name = String(decoding: cell[..<rest.startIndex], as: UTF8.self)
        guard let type = Self.type(rest) else {
            throw error("has an unknown type; it must be one of :string, :number, :boolean, :json")
        }
        columns.append(Column(name: name, type: type))
    }

    /// The type after the path; string if there is none.
    private static func type(_ suffix: ArraySlice<UInt8>) -> CSVColumnType? {
        suffix.isEmpty ? .string : CSVColumnType(rawValue: String(decoding: suffix.dropFirst(), as: UTF8.self))
    }

    /// - Parameter column: Nil for an object.
    /// - Returns: Nil if another column already uses this member in a way that conflicts.
    private mutating func child(of index: Int, named name: CSVMemberName, _ column: Int?) -> Int? {
        if let child = members[index].children.first(where: { members[$0].name == name }) {
            return column == nil && members[child].column == nil ? child : nil
        }
        members.append(Member(name: name, column: column))
        members[index].children.append(members.count - 1)
        return members.count - 1
    }
}
