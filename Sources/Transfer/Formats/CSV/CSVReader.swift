internal import LosslessJSON

/// Reads the rows of a table as documents: the inverse of ``CSVWriter``.
///
/// A cell of the type `string` is the string as it stands, `number` a JSON number, `boolean` is `true` or `false` in
/// lower or upper case, `json` JSON text. An empty cell, quoted or not, is no member; a row of empty cells an empty
/// document. Lines with nothing on them are skipped.
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
            case .fault(let breakage): return .fault(try skip(&window, breakage))
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

    /// Nil if there is none.
    private mutating func readHeader(_ window: inout TextWindow) throws(SourceError) -> CSVDocuments? {
        while window.count > 0 || window.fill() {
            var record = CSVRecord(delimiter: delimiter)
            switch read(&record, &window) {
            case .fault(let breakage):
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
                do throws(CSVHeader.Fault) {
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
                return .fault(Breakage(.json(.tooLong(limit: limit)), at: min(limit, window.count)))
            }
            guard window.fill() else { return record.finish() }
        }
    }

    /// A row that nothing ends may have been cut off with the input.
    private func take(_ count: Int, _ window: inout TextWindow) throws(SourceError) -> [UInt8] {
        let isLast = count == window.count && ![0x0A, 0x0D].contains(window[count - 1])
        let place = window.place
        let bytes = window.take(count)
        if isLast, !window.fill() {
            try window.finish(
                leaving: SourceFault(
                    reason: .json(.unexpectedEnd), place: window.place, start: place,
                    text: Array(bytes.prefix(BrokenText.keptLimit)), isCut: count > BrokenText.keptLimit))
        }
        return bytes
    }

    /// Behind a quoted cell with something behind it, the next line is the next row. If a quote is never closed, any
    /// line may have been meant to be the cell's last: the first one is.
    private func skip(_ window: inout TextWindow, _ breakage: Breakage) throws(SourceError) -> SourceFault {
        var end = LineEnd(after: breakage.reason == .textBehindQuote ? breakage.offset : 0)
        let (fault, isAtEnd) = BrokenText.skip(&window, breakage, to: &end)
        // A quote is open when the input ends: if the input was cut off, that is why.
        if isAtEnd || breakage.reason == .openQuote { try window.finish(leaving: fault) }
        return fault
    }
}

extension [UInt8] {
    /// A row without what ends it.
    var withoutLineBreak: [UInt8] { Array(prefix((lastIndex { $0 != 0x0A && $0 != 0x0D } ?? -1) + 1)) }
}

extension CSVRecord.Cell {
    /// The cell's content without what quoting added.
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
