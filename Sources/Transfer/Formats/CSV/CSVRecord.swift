/// Finds the cells of one row, while its text arrives in pieces.
///
/// - Note: Source: RFC 4180, section 2. Lines may end with LF, CRLF or CR. A quote inside a cell that does not begin
///   with one is an ordinary character.
struct CSVRecord {
    struct Cell {
        /// Without the quotes around it.
        var range: Range<Int>
        var isQuoted = false
        /// Whether it has doubled quotes inside.
        var hasQuotes = false
    }

    enum Ending {
        /// The offset of the next row.
        case end(next: Int)
        case error(SyntaxProblem)
    }

    private enum State {
        case cellStart, cell, quoted, quoteInQuoted, carriageReturn
    }

    /// More cells than any header has columns.
    private static let cellLimit = 2 * CSVColumns.limit

    private let delimiter: UInt8
    private(set) var cells: [Cell] = []
    private(set) var reached = 0
    private var state = State.cellStart
    private var current = Cell(range: 0..<0)

    init(delimiter: CSVDelimiter) { self.delimiter = delimiter.byte }

    /// Reads the text that was added since the last call.
    ///
    /// - Parameter text: All text from the beginning of the row.
    /// - Returns: Nil if the row is not complete.
    mutating func read(_ text: Span<UInt8>) -> Ending? {
        while true {
            skipContent(text)
            guard reached < text.count else { return nil }
            if let ending = read(text[unchecked: reached]) { return ending }
            reached += 1
        }
    }

    /// Skips ordinary content, which is most of the text.
    private mutating func skipContent(_ text: Span<UInt8>) {
        var at = reached
        if state == .quoted {
            while at < text.count, text[unchecked: at] != UInt8(ascii: "\"") { at += 1 }
        } else if state == .cell {
            while at < text.count, !endsCell(text[unchecked: at]) { at += 1 }
        }
        reached = at
    }

    @inline(__always)
    private func endsCell(_ byte: UInt8) -> Bool {
        byte == delimiter || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }

    /// Ends the row at the end of the input.
    mutating func finish() -> Ending {
        switch state {
        case .quoted: return openQuote
        case .carriageReturn: break
        case .cellStart:
            begin(isQuoted: false)
            endCell()
        case .cell, .quoteInQuoted: endCell()
        }
        return .end(next: reached)
    }

    /// The error of a quoted cell that is not closed.
    private var openQuote: Ending { .error(SyntaxProblem(.openQuote, at: current.range.lowerBound - 1)) }

    private mutating func read(_ byte: UInt8) -> Ending? {
        switch state {
        case .carriageReturn: return .end(next: byte == UInt8(ascii: "\n") ? reached + 1 : reached)
        case .quoted:
            if byte == UInt8(ascii: "\"") { state = .quoteInQuoted }
            return nil
        case .quoteInQuoted where byte == UInt8(ascii: "\""):
            current.hasQuotes = true
            state = .quoted
            return nil
        case .cellStart:
            begin(isQuoted: byte == UInt8(ascii: "\""))
            if current.isQuoted { return nil }
            state = .cell
        case .cell, .quoteInQuoted: break
        }
        return readUnquoted(byte)
    }

    private mutating func readUnquoted(_ byte: UInt8) -> Ending? {
        switch byte {
        case delimiter:
            endCell()
            state = .cellStart
        case UInt8(ascii: "\n"):
            endCell()
            return .end(next: reached + 1)
        case UInt8(ascii: "\r"):
            endCell()
            state = .carriageReturn
        default:
            if state == .quoteInQuoted { return .error(SyntaxProblem(.textAfterQuote, at: reached)) }
        }
        return nil
    }

    private mutating func begin(isQuoted: Bool) {
        let start = isQuoted ? reached + 1 : reached
        current = Cell(range: start..<start, isQuoted: isQuoted)
        if isQuoted { state = .quoted }
    }

    private mutating func endCell() {
        let end = current.isQuoted ? reached - 1 : reached
        current.range = current.range.lowerBound..<end
        if cells.count < Self.cellLimit { cells.append(current) }
    }

    /// Whether no cell has content. Spaces and tabs in quotes are content.
    ///
    /// - Parameter bytes: The row's text.
    func isBlank(in bytes: [UInt8]) -> Bool {
        cells.allSatisfy { cell in
            cell.range.isEmpty || !cell.isQuoted && bytes[cell.range].allSatisfy { $0 == 0x20 || $0 == 0x09 }
        }
    }

    /// The offset of a NUL outside quotes, which no table has; nil if there is none.
    ///
    /// - Parameter bytes: The row's text.
    func bareNUL(in bytes: [UInt8]) -> Int? {
        guard bytes.contains(0) else { return nil }
        return cells.lazy.filter { !$0.isQuoted }.compactMap { bytes[$0.range].firstIndex(of: 0) }.first
    }
}
