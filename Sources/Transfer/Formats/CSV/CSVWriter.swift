package import LosslessJSON

/// Writes documents as a table, one row each, under the columns that ``CSVColumns`` found or that were chosen.
///
/// RFC 4180: commas (or another delimiter), CRLF, quotes where needed. The first row names the columns: the path of a
/// member with `.` between the parts, and `:number`, `:boolean` or `:json` if the cells are not strings. An empty cell
/// means that the document lacks the member. ``CSVReader`` turns the table back into the same documents.
///
/// - Note: Cells are exact. Spreadsheets treat strings that begin with `=`, `+`, `-` or `@` as formulas.
package struct CSVWriter: Sendable {
    private struct Column: Sendable {
        let header: [UInt8]
        let type: CSVColumnType
    }

    private let members: CSVColumns
    private let separator: CSVDelimiter
    private var delimiter: UInt8 { separator.byte }
    private var columns: [Column] = []
    /// For each member, its columns and those of the members inside it.
    private var places: [Range<Int>]
    /// The values of the current row.
    private var cells: [JSONValue?]

    /// - Throws: ``CSVError/tooManyColumns(limit:)``
    package init(_ observed: CSVColumns, delimiter: CSVDelimiter = .comma) throws(CSVError) {
        members = observed
        separator = delimiter
        places = Array(repeating: 0..<0, count: observed.members.count)
        cells = []
        if let chosen = observed.chosen { addChosen(chosen) } else { addColumns(of: 0, path: []) }
        guard columns.count <= CSVColumns.limit else { throw .tooManyColumns(limit: CSVColumns.limit) }
        if columns.isEmpty { columns = [Column(header: Array("_id".utf8), type: .string)] }
        cells = Array(repeating: nil, count: columns.count)
    }

    /// Appends the first row.
    package func writeHeader(to output: inout [UInt8]) {
        for (index, column) in columns.enumerated() {
            if index > 0 { output.append(delimiter) }
            // If only this delimiter is missing, a reader could split the cell at another one.
            let isAmbiguous = columns.count == 1 && separator.likelyDelimiter(in: column.header) != nil
            output.appendCell(column.header[...], delimiter, isQuoted: isAmbiguous)
        }
        output.append(contentsOf: "\r\n".utf8)
    }

    /// Appends the document's row.
    ///
    /// - Throws: ``CSVError/unexpectedDocument`` if it does not fit the columns; then nothing is appended.
    package mutating func write(_ document: JSONValue, to output: inout [UInt8]) throws(CSVError) {
        guard document.kind == .object else { throw .unexpectedDocument }
        for index in cells.indices { cells[index] = nil }
        if members.chosen == nil { try place(document, at: 0) } else { try placeChosen(document, at: 0) }
        for (index, value) in cells.enumerated() {
            if index > 0 { output.append(delimiter) }
            guard let value else { continue }
            output.appendCell(columns[index].type == .string ? value.characters : value.bytes, delimiter)
        }
        // Many readers skip an empty line, and then have one row too few.
        if cells.count == 1, cells[0] == nil { output.append(contentsOf: #""""#.utf8) }
        output.append(contentsOf: "\r\n".utf8)
    }

    // MARK: - Columns

    /// Recurses as deep as ``CSVColumns`` does.
    private mutating func addColumns(of index: Int, path: [UInt8]) {
        let start = columns.count
        let member = members.members[index]
        if let type = member.type {
            let suffix = type == .string ? [] : Array(":\(type.rawValue)".utf8)
            columns.append(Column(header: path + suffix, type: type))
        } else {
            for child in member.children {
                let part = members.members[child].name.pathPart
                addColumns(of: child, path: index == 0 ? part : path + [UInt8(ascii: ".")] + part)
            }
        }
        places[index] = start..<columns.count
    }

    /// In the chosen order, which may differ from that of the members.
    private mutating func addChosen(_ chosen: [Int]) {
        let headers = members.paths
        for index in chosen {
            let type = members.members[index].chosenColumnType
            let suffix = type == .string ? [] : Array(":\(type.rawValue)".utf8)
            places[index] = columns.count..<columns.count + 1
            columns.append(Column(header: (headers[index] ?? []) + suffix, type: type))
        }
    }

    /// Puts the chosen members into their cells.
    private mutating func placeChosen(_ object: JSONValue, at index: Int) throws(CSVError) {
        for (position, member) in object.members.enumerated() {
            guard let child = members.child(of: index, named: member.name, position: position) else { continue }
            // If a member occurs twice, the last one counts.
            clear(child)
            if let place = places[child].first {
                let kind = CSVColumns.kind(of: member.value)
                let type = columns[place].type
                guard type == .json || CSVColumns.Member.type(of: kind) == type else { throw .unexpectedDocument }
                cells[place] = member.value
            } else if member.value.kind == .object {
                try placeChosen(member.value, at: child)
            }
        }
    }

    /// Recurses only as deep as the chosen paths.
    private mutating func clear(_ index: Int) {
        for place in places[index] { cells[place] = nil }
        for child in members.members[index].children { clear(child) }
    }

    /// Puts the members of an object into their cells.
    private mutating func place(_ object: JSONValue, at index: Int) throws(CSVError) {
        for (position, member) in object.members.enumerated() {
            guard let child = members.child(of: index, named: member.name, position: position) else {
                throw .unexpectedDocument
            }
            let place = places[child]
            // If a member occurs twice, the last one counts.
            for cell in place { cells[cell] = nil }
            let kind = CSVColumns.kind(of: member.value)
            if let type = members.members[child].type {
                guard type == .json || CSVColumns.Member.type(of: kind) == type else { throw .unexpectedDocument }
                cells[place.lowerBound] = member.value
            } else {
                guard kind == .object else { throw .unexpectedDocument }
                try self.place(member.value, at: child)
            }
        }
    }
}

extension CSVColumns.Member {
    /// Nil if its members are columns.
    fileprivate var type: CSVColumnType? { Self.type(of: kinds) }

    /// The type of a chosen column. If no document has the member, it is the requested type, or string.
    fileprivate var chosenColumnType: CSVColumnType {
        if kinds.isEmpty { return chosenType ?? .string }
        return chosenType == .json ? .json : type ?? .json
    }

    fileprivate static func type(of kinds: CSVColumns.Kinds) -> CSVColumnType? {
        switch kinds {
        case .object: nil
        case .string: .string
        case .number: .number
        case .boolean: .boolean
        default: .json
        }
    }
}

extension [UInt8] {
    /// Appends a cell, quoted if it could be misread.
    fileprivate mutating func appendCell(_ content: ArraySlice<UInt8>, _ delimiter: UInt8, isQuoted: Bool = false) {
        guard isQuoted || content.needsQuotes(delimiter) else { return append(contentsOf: content) }
        append(UInt8(ascii: "\""))
        for byte in content {
            if byte == UInt8(ascii: "\"") { append(byte) }
            append(byte)
        }
        append(UInt8(ascii: "\""))
    }
}

extension ArraySlice<UInt8> {
    fileprivate func needsQuotes(_ delimiter: UInt8) -> Bool {
        // Some readers drop white space at the ends, and 0xEF at the start of a file could be a byte order mark.
        if first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09 || first == 0xEF { return true }
        return contains { $0 == delimiter || $0 == UInt8(ascii: "\"") || $0 == 0x0A || $0 == 0x0D || $0 == 0 }
    }
}
