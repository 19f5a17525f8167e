internal import LosslessJSON

/// Reads consecutive documents: one per line, over several lines, or several on a line.
///
/// A document that can't be read ends with its line. If the document spans several lines and the error is on a later
/// one, it ends before the next line that begins with `{`. After a truncated line, the next whole document is therefore
/// found.
///
/// - Note: Source: NDJSON 1.0 (ndjson-spec); `mongoexport --pretty` and jq write documents over several lines.
struct LinesReader: DocumentsReader {
    private var values: ValueReader

    init(documentLimit: Int) { values = ValueReader(limit: documentLimit) }

    mutating func next(_ window: inout TextWindow) throws(SourceError) -> SourceItem? {
        guard let first = skipToDocument(&window) else {
            try window.finish()
            return nil
        }
        guard first == UInt8(ascii: "{") else { return try skipScalar(&window) }
        switch values.read(&window) {
        case .error(let error): return try skip(&window, SyntaxProblem(error))
        case .value(let tape, let end):
            if let trailing = trailingText(from: end, in: &window) {
                return .error(
                    try skipLine(&window, SyntaxProblem(.json(trailing.reason), at: trailing.offset), from: end))
            }
            let place = window.place
            return .document(SourceDocument(text: JSONText(bytes: window.take(end), tape: tape), place: place))
        }
    }

    /// The first byte of the next document; nil at the end. Skips byte order marks, which concatenated files have.
    private func skipToDocument(_ window: inout TextWindow) -> UInt8? {
        while true {
            let first = window.skipWhitespace()
            guard first == TextWindow.mark[0] else { return first }
            let place = window.place
            window.skipMark()
            if place == window.place { return first }
        }
    }

    /// Text after a document on its line that does not begin another document.
    private func trailingText(from end: Int, in window: inout TextWindow) -> JSONError? {
        var at = end
        while true {
            while at < window.count {
                switch window[at] {
                case UInt8(ascii: "\n"), UInt8(ascii: "{"), TextWindow.mark[0]: return nil
                case 0x20, 0x09, 0x0D: at += 1
                case let byte: return JSONError(.unexpectedByte(byte, expected: .endOfText), at: at)
                }
            }
            // Endless white space must not delay a document or fill memory.
            guard at - end < values.limit, window.fill() else { return nil }
        }
    }

    private mutating func skipScalar(_ window: inout TextWindow) throws(SourceError) -> SourceItem {
        switch values.read(&window) {
        case .error(let error): return .error(try skipLine(&window, SyntaxProblem(error)))
        case .value(_, let end):
            let trailing = trailingText(from: end, in: &window)
            let problem = trailing.map { SyntaxProblem($0) } ?? SyntaxProblem(.notAnObject, at: 0)
            return .error(try skipLine(&window, problem, from: end))
        }
    }

    private func skip(_ window: inout TextWindow, _ problem: SyntaxProblem) throws(SourceError) -> SourceItem {
        let isOnFirstLine = window.withText(upTo: problem.offset) { text in
            !text.indices.contains { text[$0] == UInt8(ascii: "\n") }
        }
        if isOnFirstLine { return .error(try skipLine(&window, problem, from: problem.offset)) }
        var end = NextDocumentLine()
        return .error(try Self.finish(BrokenDocument.skip(&window, problem, to: &end), window))
    }

    /// - Parameter offset: Any offset on the line that ends the broken text.
    private func skipLine(
        _ window: inout TextWindow, _ problem: SyntaxProblem, from offset: Int = 0
    ) throws(SourceError) -> SourceDocumentError {
        var end = LineEnd(after: offset)
        return try Self.finish(BrokenDocument.skip(&window, problem, to: &end), window)
    }

    /// If the input was truncated, that is the error, not the last document.
    private static func finish(
        _ skipped: (error: SourceDocumentError, isAtEnd: Bool), _ window: borrowing TextWindow
    ) throws(SourceError) -> SourceDocumentError {
        if skipped.isAtEnd { try window.finish(leaving: skipped.error) }
        return skipped.error
    }
}

/// Ends broken text before the next line that begins with `{`, without white space before it.
private struct NextDocumentLine: BrokenTextScanner {
    private var isAfterLineBreak = false
    var undecidedCount: Int { isAfterLineBreak ? 1 : 0 }

    mutating func scan(_ byte: UInt8) -> Int? {
        if isAfterLineBreak, byte == UInt8(ascii: "{") { return 2 }
        isAfterLineBreak = byte == UInt8(ascii: "\n")
        return nil
    }
}

/// Ends broken text at the first line break after an offset.
struct LineEnd: BrokenTextScanner {
    private var left: Int
    let undecidedCount = 0

    init(after offset: Int) { left = offset }

    mutating func scan(_ byte: UInt8) -> Int? {
        left -= 1
        return left < 0 && byte == UInt8(ascii: "\n") ? 1 : nil
    }
}

/// Reads the JSON value at the beginning of a window, which may arrive in pieces.
struct ValueReader {
    enum Outcome {
        case value(JSONTape, end: Int)
        /// For a value cut off by the end of the input, the offset is the window's end.
        case error(JSONError)
    }

    /// The maximum number of bytes of a value.
    let limit: Int
    /// Number of nodes of the last value: documents of one input are similar.
    private var expectedNodes = 32

    init(limit: Int) { self.limit = limit }

    /// How the value is split into pieces does not affect the result.
    mutating func read(_ window: inout TextWindow) -> Outcome {
        var frame: JSONFrame?
        var tape = JSONTape(minimumCapacity: expectedNodes)
        while true {
            let scanned = min(window.count, limit)
            do throws(JSONError) {
                let end = try window.scan(into: &tape, upTo: limit)
                // A number may continue in the next piece.
                if end < scanned || tape.kind(of: 0) >= .string || !window.fill() {
                    expectedNodes = min(tape.count, 1 << 16)
                    return .value(tape, end: end)
                }
                tape.removeAll()
            } catch {
                guard error.reason == .unexpectedEnd else { return .error(error) }
                guard scanned < limit else { return .error(JSONError(.tooLong(limit: limit), at: limit)) }
                var known = frame ?? JSONFrame(start: 0, endsAtBrokenString: true)
                guard Self.waitForEnd(&known, in: &window, scanned: scanned, limit: limit) else {
                    return .error(JSONError(.unexpectedEnd, at: window.count))
                }
                frame = known
            }
        }
    }

    /// Reads until the value may be complete, or until the window has doubled. An error in a long value is therefore
    /// found early.
    ///
    /// - Returns: False at the end of the input.
    private static func waitForEnd(
        _ frame: inout JSONFrame, in window: inout TextWindow, scanned: Int, limit: Int
    ) -> Bool {
        guard window.fill() else { return false }
        while true {
            if window.count >= min(2 * scanned, limit) { return true }
            if window.withText({ frame.findEnd(in: $0) != nil }) { return true }
            guard window.fill() else { return true }
        }
    }
}
