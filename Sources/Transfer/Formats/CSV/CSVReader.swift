internal import LosslessJSON

/// Reads the rows of a table as documents: the inverse of ``CSVWriter``.
///
/// A `string` cell is the string itself, `number` a JSON number, `boolean` `true` or `false` in any case, `json` any
/// JSON. An empty cell, quoted or not, means that the document lacks the member. Empty lines and rows without any
/// content are skipped: spreadsheets write them after the last row, and above the header.
///
/// Habits of spreadsheets are accepted: a first line `sep=;`, in any case, names the delimiter, and columns without a name may follow
/// the last one if all their cells are empty. In concatenated tables, a repeated header is skipped. Text that is not
/// UTF-8 ends reading. If valid non-ASCII text came before it, it is only an error in its row.
struct CSVReader: DocumentsReader {
    private(set) var header: [UInt8]?
    private var documents: CSVDocuments?
    /// How many bytes of the text are checked before the first row is returned.
    private static let checkedAtOnce = 64 << 10

    private let limit: Int
    private var delimiter: CSVDelimiter
    /// The row with the names, without its line break.
    private var names: [UInt8] = []
    /// Whether non-ASCII text occurred, all of it UTF-8.
    private var hasUTF8 = false

    static let isNotUTF8 = UTF16Decoder.remedy(
        "is not UTF-8 but probably Windows-1252, which Excel uses for CSV", from: "WINDOWS-1252")

    init(delimiter: CSVDelimiter, documentLimit: Int) {
        self.delimiter = delimiter
        limit = documentLimit
    }

    mutating func next(_ window: inout TextWindow) throws(SourceError) -> SourceItem? {
        if documents == nil {
            try checkBeginning(&window)
            documents = try readHeader(&window)
        }
        guard documents != nil else { return nil }
        while window.count > 0 || window.fill() {
            var record = CSVRecord(delimiter: delimiter)
            switch read(&record, &window) {
            case .error(let problem): return .error(try skip(&window, problem))
            case .end(let next):
                let place = window.place
                let bytes = try take(next, &window)
                if record.isBlank(in: bytes) { continue }
                if try isHeaderAgain(record, bytes, at: place) { continue }
                if let nul = record.bareNUL(in: bytes) {
                    return .error(SourceDocumentError(.bareNUL, at: nul, ofRow: bytes, at: place))
                }
                try checkEncoding(bytes, at: place)
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
            case .error(let problem):
                throw SourceError(.header("the header: \(problem.reason)"), at: window.place(of: problem.offset))
            case .end(let next):
                let place = window.place
                let bytes = try take(next, &window)
                if record.isBlank(in: bytes) { continue }
                if try isDelimiterLine(bytes.withoutLineBreak, at: place) { continue }
                if let nul = record.bareNUL(in: bytes) {
                    let reason = "the header: \(SourceDocumentError.Reason.bareNUL)"
                    throw SourceError(.header(reason), at: place.advanced(over: Array(bytes[..<nul])))
                }
                names = bytes.withoutLineBreak
                header = (header ?? []) + names
                if record.cells.count == 1, !record.cells[0].isQuoted, let other = delimiter.likelyDelimiter(in: bytes)
                {
                    throw SourceError(
                        .header(
                            "the header has one column; add --delimiter \(other.name), or quote the name if that character "
                                + "is part of it"), at: place)
                }
                do throws(CSVHeader.FormatError) {
                    return CSVDocuments(
                        try CSVHeader(record.cells.map { Array($0.characters(in: bytes)) }),
                        CSVRowAdvice(delimiter: delimiter, header: names))
                } catch {
                    throw SourceError(.header(error.description), at: place)
                }
            }
        }
        try window.finish()
        return nil
    }

    /// Whether this is the line `sep=;`, with which Excel names the delimiter.
    private mutating func isDelimiterLine(_ line: [UInt8], at place: TextPlace) throws(SourceError) -> Bool {
        guard header == nil, let name = Self.delimiterName(in: line) else { return false }
        guard let named = CSVDelimiter(name) else {
            throw SourceError(.header("the line names an invalid delimiter; remove it"), at: place)
        }
        delimiter = named
        // A file of rejected rows needs this line, too.
        header = line + [UInt8(ascii: "\n")]
        return true
    }

    /// What follows `sep=`; nil for another line.
    private static func delimiterName(in line: [UInt8]) -> String? {
        let start = Array("sep=".utf8)
        let bare =
            line.first == UInt8(ascii: "\"") && line.last == line.first ? Array(line.dropFirst().dropLast()) : line
        let name = bare.prefix(start.count).map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        guard bare.count == start.count + 1, name == start else { return nil }
        return String(decoding: bare.dropFirst(start.count), as: UTF8.self)
    }

    /// Splits a ``header`` into the delimiter that its first line names, nil without such a line, and the names.
    static func splitDelimiterLine(_ header: [UInt8]) -> (delimiter: CSVDelimiter?, names: ArraySlice<UInt8>) {
        guard let end = header.firstIndex(of: UInt8(ascii: "\n")),
            let delimiter = delimiterName(in: Array(header[..<end])).flatMap({ CSVDelimiter($0) })
        else { return (nil, header[...]) }
        return (delimiter, header[(end + 1)...])
    }

    /// Whether the row is the header again, as in tables that were concatenated.
    ///
    /// - Throws: `SourceError`: `.header` if another table begins here.
    private func isHeaderAgain(_ record: CSVRecord, _ bytes: [UInt8], at place: TextPlace) throws(SourceError) -> Bool {
        // Most rows do not start like the header.
        guard bytes.first == TextWindow.mark[0] || bytes.first == names.first else { return false }
        let isMarked = bytes.starts(with: TextWindow.mark)
        guard isMarked || record.cells.count > 1 else { return false }
        let isSame = bytes.withoutLineBreak.dropFirst(isMarked ? TextWindow.mark.count : 0).elementsEqual(names)
        guard isSame || !isMarked else {
            throw SourceError(
                .header("another table begins here, with other columns; import each file separately"), at: place)
        }
        return isSame
    }

    /// - Throws: `SourceError`: `.encoding` if the table is not UTF-8.
    private mutating func checkEncoding(_ bytes: [UInt8], at place: TextPlace) throws(SourceError) {
        guard !hasUTF8, bytes.contains(where: { $0 >= 0x80 }) else { return }
        hasUTF8 = String(validating: bytes, as: UTF8.self) != nil
        if !hasUTF8 { throw SourceError(.encoding("the table \(Self.isNotUTF8)"), at: place) }
    }

    /// Checks the beginning of the text, so that a small table is refused before any row is written.
    private mutating func checkBeginning(_ window: inout TextWindow) throws(SourceError) {
        while window.count < Self.checkedAtOnce, window.fill() {}
        let line = window.withText(upTo: Self.checkedAtOnce) { text -> Range<Int>? in
            guard let first = text.indices.first(where: { text[$0] >= 0x80 }),
                let end = (first..<text.count).first(where: { text[$0] == UInt8(ascii: "\n") })
            else { return nil }
            let start = (0..<first).last { text[$0] == UInt8(ascii: "\n") }
            return (start.map { $0 + 1 } ?? 0)..<end
        }
        guard let line else { return }
        try checkEncoding(Array(window.slice(line)), at: window.place(of: line.lowerBound))
    }

    private func read(_ record: inout CSVRecord, _ window: inout TextWindow) -> CSVRecord.Ending {
        while true {
            if let ending = window.withText(upTo: limit + 1, { record.read($0) }) { return ending }
            guard record.reached <= limit else {
                return .error(SyntaxProblem(.json(.tooLong(limit: limit)), at: min(limit, window.count)))
            }
            guard window.fill() else { return record.finish() }
        }
    }

    /// A last row without a line break may have been truncated.
    private func take(_ count: Int, _ window: inout TextWindow) throws(SourceError) -> [UInt8] {
        let isLast = count == window.count && ![0x0A, 0x0D].contains(window[count - 1])
        let place = window.place
        let bytes = window.take(count)
        if isLast, !window.fill() {
            try window.finish(
                leaving: SourceDocumentError(
                    reason: .json(.unexpectedEnd), place: window.place, start: place,
                    text: Array(bytes.prefix(BrokenDocument.keptLimit)), isTruncated: count > BrokenDocument.keptLimit))
        }
        return bytes
    }

    /// Skips to the next row. If text follows a quoted cell, the next row is the next line. If a quote is never closed,
    /// the cell is assumed to end with its first line.
    private func skip(_ window: inout TextWindow, _ problem: SyntaxProblem) throws(SourceError) -> SourceDocumentError {
        var end = LineEnd(after: problem.reason == .textAfterQuote ? problem.offset : 0)
        let (error, isAtEnd) = BrokenDocument.skip(&window, problem, to: &end)
        // If the input was truncated, that is the reason for the open quote.
        if isAtEnd || problem.reason == .openQuote { try window.finish(leaving: error) }
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
