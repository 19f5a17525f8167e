internal import LosslessJSON

/// Turns rows of a table into documents.
struct CSVDocuments {
    private let header: CSVHeader
    private let advice: CSVRowAdvice

    init(_ header: CSVHeader, _ advice: CSVRowAdvice) {
        self.header = header
        self.advice = advice
    }

    /// - Parameter bytes: The row's text with its line break.
    func document(of record: CSVRecord, _ bytes: [UInt8], at place: TextPlace) -> SourceItem {
        do throws(SourceDocumentError) {
            let (columns, more) = (header.columns.count, record.cells.dropFirst(header.columns.count))
            guard columns...header.cellCount ~= record.cells.count, more.allSatisfy(\.range.isEmpty) else {
                let remedy = advice.remedy(for: record, bytes, columns: columns)
                throw error(
                    .cellCount(found: record.cells.count, expected: columns, remedy: remedy), 0, bytes, place)
            }
            var document: [UInt8] = []
            document.reserveCapacity(bytes.count + 32 * header.columns.count)
            _ = try write(0, record, bytes, place, to: &document)
            return .document(
                SourceDocument(
                    text: try text(document, bytes, place), place: place, original: bytes.withoutLineBreak))
        } catch {
            return .error(error)
        }
    }

    /// Checks the document. At this point, only a string that is not UTF-8 can be wrong.
    private func text(_ document: [UInt8], _ bytes: [UInt8], _ place: TextPlace) throws(SourceDocumentError) -> JSONText
    {
        do throws(JSONError) { return try JSONText(document) } catch {
            throw self.error(.json(error.reason), 0, bytes, place)
        }
    }

    /// Appends the object for a member of the header. Recurses as deep as the header's paths.
    ///
    /// - Returns: Whether it has any members.
    private func write(
        _ index: Int, _ record: CSVRecord, _ bytes: [UInt8], _ place: TextPlace, to document: inout [UInt8]
    ) throws(SourceDocumentError) -> Bool {
        document.append(UInt8(ascii: "{"))
        var isEmpty = true
        for child in header.members[index].children {
            let member = header.members[child]
            let before = document.count
            if !isEmpty { document.append(UInt8(ascii: ",")) }
            document += member.literal
            let exists =
                if let column = member.column {
                    try write(record.cells[column], header.columns[column], bytes, place, to: &document)
                } else {
                    try write(child, record, bytes, place, to: &document)
                }
            if exists { isEmpty = false } else { document.removeSubrange(before...) }
        }
        document.append(UInt8(ascii: "}"))
        return !isEmpty
    }

    /// Appends the value of a cell. Returns false for an empty one.
    private func write(
        _ cell: CSVRecord.Cell, _ column: CSVHeader.Column, _ bytes: [UInt8], _ place: TextPlace,
        to document: inout [UInt8]
    ) throws(SourceDocumentError) -> Bool {
        let characters = cell.characters(in: bytes)
        guard !characters.isEmpty else { return false }
        guard column.type != .string else {
            document.appendJSONString(characters)
            return true
        }
        guard let json = Self.json(characters, column.type) else {
            let start = cell.range.lowerBound - (cell.isQuoted ? 1 : 0)
            let remedy = CSVCellAdvice.remedy(for: characters, in: column)
            throw error(.cell(column: column.name, expected: column.type, remedy: remedy), start, bytes, place)
        }
        document += json
        return true
    }

    /// Nil if the characters are not of the type.
    private static func json(_ characters: ArraySlice<UInt8>, _ type: CSVColumnType) -> ArraySlice<UInt8>? {
        if type == .boolean {
            // Spreadsheets write them in upper case.
            let text = String(decoding: characters, as: UTF8.self)
            return ["true", "True", "TRUE", "false", "False", "FALSE"].contains(text)
                ? Array(text.lowercased().utf8)[...] : nil
        }
        var tape = JSONTape(minimumCapacity: 1)
        guard (try? tape.scanDocument(characters.span)) != nil else { return nil }
        if type == .json { return characters }
        // JSON allows white space around the number, but a number cell must not have any.
        let isBare = characters.first?.isJSONWhitespace == false && characters.last?.isJSONWhitespace == false
        return tape.kind(of: 0) == .number && isBare ? characters : nil
    }

    private func error(
        _ reason: SourceDocumentError.Reason, _ offset: Int, _ bytes: [UInt8], _ place: TextPlace
    ) -> SourceDocumentError {
        SourceDocumentError(reason, at: offset, ofRow: bytes, at: place)
    }
}

extension SourceDocumentError {
    /// A row of a table that is not a document.
    ///
    /// - Parameters:
    ///   - offset: Where in the row's text the error is.
    ///   - bytes: The row's text with its line break.
    init(_ reason: Reason, at offset: Int, ofRow bytes: [UInt8], at place: TextPlace) {
        let row = bytes.withoutLineBreak
        self.init(
            reason: reason, place: place.advanced(over: Array(bytes[..<offset])), start: place,
            text: Array(row.prefix(BrokenDocument.keptLimit)), isTruncated: row.count > BrokenDocument.keptLimit)
    }
}
