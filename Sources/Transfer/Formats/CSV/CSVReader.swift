internal import LosslessJSON

/// Reads the rows of a table as documents: the inverse of ``CSVWriter``.
///
/// A `string` cell is the string itself, `number` a JSON number, `boolean` is `true` or `false` in lower or upper case,
/// `json` any JSON. An empty cell, quoted or not, means that the document lacks the member; a row of empty cells is an
/// empty document. Empty lines are skipped.
struct CSVReader: DocumentsReader {
    private(set) var header: [UInt8]?
    private var documents: CSVDocuments?
    private let limit: Int
    private let delimiter: CSVDelimiter

    init(delimiter: CSVDelimiter, documentLimit: Int) {
        self.delimiter = delimiter
        limit = documentLimit
    }

    mutating func next(_ window: inout TextWindow) throws(SourceError) -> SourceItem? {
        if documents == nil { documents = try readHeader(&window) }
        guard documents != nil else { return nil }
        while window.count > 0 || window.fill() {
            var record = CSVRecord(delimiter: delimiter)
            switch read(&record, &window) {
            case .error(let breakage): return .error(try skip(&window, breakage))
            case .end(let next):
                let place = window.place
                let bytes = try take(next, &window)
                if record.isBlank { continue }
                return documents?.document(of: record, bytes, at: place)
            }
        }
        try window.finish()
        return nil
    }

    /// Nil if the input has no rows.
    private mutating func readHeader(_ window: inout TextWindow) throws(SourceError) -> CSVDocuments? {
        while window.count > 0 || window.fill() {
            var record = CSVRecord(delimiter: delimiter)
            switch read(&record, &window) {
            case .error(let breakage):
                throw SourceError(.header("the header: \(breakage.reason)"), at: window.place(of: breakage.offset))
            case .end(let next):
                let place = window.place
                let bytes = try take(next, &window)
                if record.isBlank { continue }
                header = bytes.withoutLineBreak
                if record.cells.count == 1, !record.cells[0].isQuoted, let other = delimiter.probable(in: bytes) {
                    throw SourceError(
                        .header(
                            "the header has one column; add --delimiter \(other.name), or put its name in quotes if that "
                                + "is part of it"), at: place)
                }
                do throws(CSVHeader.FormatError) {
                    return CSVDocuments(try CSVHeader(record.cells.map { Array($0.characters(in: bytes)) }))
                } catch {
                    throw SourceError(.header(error.description), at: place)
                }
            }
        }
        try window.finish()
        return nil
    }

    private func read(_ record: inout CSVRecord, _ window: inout TextWindow) -> CSVRecord.Ending {
        while true {
            if let ending = window.withText(upTo: limit + 1, { record.read($0) }) { return ending }
            guard record.reached <= limit else {
                return .error(Breakage(.json(.tooLong(limit: limit)), at: min(limit, window.count)))
            }
            guard window.fill() else { return record.finish() }
        }
    }

    /// A last row without a line break may have been cut off with the input.
    private func take(_ count: Int, _ window: inout TextWindow) throws(SourceError) -> [UInt8] {
        let isLast = count == window.count && ![0x0A, 0x0D].contains(window[count - 1])
        let place = window.place
        let bytes = window.take(count)
        if isLast, !window.fill() {
            try window.finish(
                leaving: SourceDocumentError(
                    reason: .json(.unexpectedEnd), place: window.place, start: place,
                    text: Array(bytes.prefix(BrokenText.keptLimit)), isCut: count > BrokenText.keptLimit))
        }
        return bytes
    }

    /// Skips to the next row. If text follows a quoted cell, that is the next line. If a quote is never closed, any
    /// line may have been meant as the cell's last one; the first is assumed.
    private func skip(_ window: inout TextWindow, _ breakage: Breakage) throws(SourceError) -> SourceDocumentError {
        var end = LineEnd(after: breakage.reason == .textBehindQuote ? breakage.offset : 0)
        let (error, isAtEnd) = BrokenText.skip(&window, breakage, to: &end)
        // If the input was cut off, that is the reason for the open quote.
        if isAtEnd || breakage.reason == .openQuote { try window.finish(leaving: error) }
        return error
    }
}

extension [UInt8] {
    /// A row without its line break.
    var withoutLineBreak: [UInt8] { Array(prefix((lastIndex { $0 != 0x0A && $0 != 0x0D } ?? -1) + 1)) }
}

extension CSVRecord.Cell {
    /// The cell's content with doubled quotes resolved.
    func characters(in bytes: [UInt8]) -> ArraySlice<UInt8> {
        guard hasQuotes else { return bytes[range] }
        var characters: [UInt8] = []
        characters.reserveCapacity(range.count)
        var isDoubled = false
        for byte in bytes[range] {
            isDoubled = byte == UInt8(ascii: "\"") && !isDoubled
            if !isDoubled { characters.append(byte) }
        }
        return characters[...]
    }
}
