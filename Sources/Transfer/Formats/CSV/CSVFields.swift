/// The chosen columns of a table, in order: `_id,owner.name,done`.
///
/// Each is the path of a member as in a table's header: `.` between the parts, and `\` before a `.`, `:`, `,` or `\`
/// that is part of a name. A type such as `:json` may follow. With `:json` every cell is JSON. Without a type, the
/// documents decide.
package struct CSVFields: Sendable, Equatable {
    /// Why the list of columns is not valid.
    package struct FormatError: Error, Equatable, CustomStringConvertible {
        /// What is wrong and what to do.
        package let description: String
    }

    struct Column: Sendable, Equatable {
        let path: [CSVMemberName]
        let type: CSVColumnType?
    }

    /// The maximum number of parts of a path; the same as in a header.
    private static let maxDepth = 100

    /// The list as the user wrote it.
    package let text: String
    let columns: [Column]

    /// - Throws: ``FormatError`` for a path that is empty, malformed, repeated or inside another one.
    package init(_ text: String) throws(FormatError) {
        self.text = text
        var columns: [Column] = []
        for part in Self.parts(of: text) { columns.append(try Self.column(part)) }
        guard columns.count <= CSVColumns.limit else {
            throw FormatError(description: "more than \(CSVColumns.limit) columns; name fewer")
        }
        var paths: Set<[CSVMemberName]> = []
        for column in columns where !paths.insert(column.path).inserted {
            throw FormatError(description: "'\(Self.name(column.path))' is listed twice; remove one")
        }
        for column in columns {
            for count in 1..<column.path.count where paths.contains(Array(column.path.prefix(count))) {
                let outer = Self.name(Array(column.path.prefix(count)))
                throw FormatError(
                    description: "'\(Self.name(column.path))' is a part of '\(outer)'; remove one of them")
            }
        }
        self.columns = columns
    }

    /// Compares the columns only: white space in the list does not matter.
    package static func == (left: CSVFields, right: CSVFields) -> Bool { left.columns == right.columns }

    /// The text between unescaped commas, without surrounding white space.
    private static func parts(of text: String) -> [[UInt8]] {
        var parts: [[UInt8]] = [[]]
        var bytes = text.utf8.makeIterator()
        while let byte = bytes.next() {
            switch byte {
            case UInt8(ascii: ","): parts.append([])
            case UInt8(ascii: "\\"):
                let next = bytes.next()
                if next != UInt8(ascii: ",") { parts[parts.count - 1].append(byte) }
                if let next { parts[parts.count - 1].append(next) }
            default: parts[parts.count - 1].append(byte)
            }
        }
        let blanks = Array(" \t\r\n".utf8)
        return parts.map { part in
            let start = part.drop { blanks.contains($0) }
            return Array(start.reversed().drop { blanks.contains($0) }.reversed())
        }
    }

    private static func column(_ part: [UInt8]) throws(FormatError) -> Column {
        let shown = String(decoding: part, as: UTF8.self)
        guard !part.isEmpty else { throw FormatError(description: "a field has no name; write them as a,b.c") }
        var rest = part[...]
        var path: [CSVMemberName] = []
        while true {
            guard let name = CSVMemberName.take(from: &rest), path.count < maxDepth else {
                throw FormatError(
                    description:
                        "'\(shown)' is not the path of a member; '\\', '.', ':' and ',' in a name need a '\\' before them"
                )
            }
            path.append(name)
            guard rest.first == UInt8(ascii: ".") else { break }
            rest.removeFirst()
        }
        guard !rest.isEmpty else { return Column(path: path, type: nil) }
        guard let type = CSVColumnType(rawValue: String(decoding: rest.dropFirst(), as: UTF8.self)) else {
            throw FormatError(
                description:
                    "'\(shown)' has an unknown type; leave it out, or write :string, :number, :boolean or :json")
        }
        return Column(path: path, type: type)
    }

    private static func name(_ path: [CSVMemberName]) -> String {
        String(decoding: Array(path.map(\.pathPart).joined(separator: [UInt8(ascii: ".")])), as: UTF8.self)
    }
}
