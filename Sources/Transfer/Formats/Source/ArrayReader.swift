internal import LosslessJSON

/// Reads the documents of one JSON array, of several that follow each other, or of the array in a gateway's answer.
///
/// A broken element is skipped if the start of the next one can be found: see ``ElementEnd``. If each line has its own
/// array, as in couchbackup files, the rest of the line is skipped.
///
/// - Note: Source: `mongoexport --jsonArray`; CouchDB's answers to `_all_docs?include_docs=true` and its `_bulk_docs`
///   bodies; couchbackup, whose resumed backups have blank lines and lines that end inside their array.
struct ArrayReader: DocumentsReader {
    private enum State {
        case beforeArray, elementOrEnd, element, afterElement, end
    }

    /// The maximum amount of white space that is remembered before an element, in bytes.
    private static let indentationLimit = 200

    /// Nil for a plain array.
    private let frame: AnswerFrame?
    private var values: ValueReader
    private var state: State
    /// Whether the input is known to have one array per line.
    private var isArrayPerLine: Bool
    /// Where the last element or bracket ended.
    private var lastEnd = TextPlace()
    /// White space before the element on its line; empty if the element does not begin the line.
    private var indentation: [UInt8] = []

    /// - Parameters:
    ///   - frame: Nil if the input is arrays and nothing else.
    ///   - isOpen: Whether the opening bracket was read, so that the window is at the first element or at the array's
    ///     end.
    init(_ frame: AnswerFrame?, isArrayPerLine: Bool = false, isOpen: Bool = false, documentLimit: Int) {
        self.frame = frame
        self.isArrayPerLine = isArrayPerLine
        state = isOpen ? .elementOrEnd : .beforeArray
        values = ValueReader(limit: documentLimit)
    }

    mutating func next(_ window: inout TextWindow) throws(SourceError) -> SourceItem? {
        while state != .end {
            if let item = try step(&window) { return item }
        }
        return nil
    }

    /// Nil if no item is complete yet.
    private mutating func step(_ window: inout TextWindow) throws(SourceError) -> SourceItem? {
        if state == .beforeArray { return try beginArray(&window) }
        skipIndentation(&window)
        switch (state, try nextByte(&window)) {
        case (_, nil):
            state = .end
            return .error(truncatedLine)
        case (_, UInt8(ascii: "[")) where frame == nil && window.place.column == 1:
            window.drop(1)
            state = .elementOrEnd
            isArrayPerLine = true
            defer { lastEnd = window.place }
            return .error(truncatedLine)
        case (.elementOrEnd, UInt8(ascii: "]")), (.afterElement, UInt8(ascii: "]")):
            window.drop(1)
            try endArray(&window)
            return nil
        case (.afterElement, UInt8(ascii: ",")):
            window.drop(1)
            state = .element
            return nil
        case (.afterElement, UInt8(ascii: "{")):
            state = .element
            return .error(missingComma(window.place))
        case (.afterElement, let byte?):
            return .error(try skip(&window, Self.expectedComma(byte)))
        default:
            state = .afterElement
            return try readElement(&window)
        }
    }

    private mutating func readElement(_ window: inout TextWindow) throws(SourceError) -> SourceItem? {
        switch values.read(&window) {
        case .error(let error): return .error(try skip(&window, SyntaxProblem(error)))
        case .value(let tape, let end):
            let place = window.place
            let element = SourceDocument(text: JSONText(bytes: window.take(end), tape: tape), place: place)
            lastEnd = window.place
            if frame == .rows { return Self.document(ofRow: element) }
            return element.text.root.kind == .object
                ? .document(element) : .error(SourceDocumentError(element, .notAnObject))
        }
    }

    /// Nil for the row of a deleted document, which has no body.
    private static func document(ofRow row: SourceDocument) -> SourceItem? {
        let root = row.text.root
        if let document = root["doc"], document.kind == .object, let text = document.copied() {
            let before = Array(row.bytes[..<document.range.lowerBound])
            return .document(SourceDocument(text: text, place: row.place.advanced(over: before)))
        }
        return root["value"]?["deleted"]?.bool == true ? nil : .error(SourceDocumentError(row, .noDocument))
    }

    // MARK: - Broken elements

    private mutating func skip(
        _ window: inout TextWindow, _ problem: SyntaxProblem
    ) throws(SourceError) -> SourceDocumentError {
        if isArrayPerLine || frame == nil && nextLineBeginsArray(&window) { return try skipLine(&window, problem) }
        var end = ElementEnd(indentation: indentation)
        let (error, isAtEnd) = BrokenDocument.skip(&window, problem, to: &end)
        guard isAtEnd else { return error }
        try window.finish(leaving: error)
        throw SourceError(.structure(error.reason), at: error.place, broken: error)
    }

    private mutating func skipLine(
        _ window: inout TextWindow, _ problem: SyntaxProblem
    ) throws(SourceError) -> SourceDocumentError {
        isArrayPerLine = true
        state = .beforeArray
        var end = LineEnd(after: 0)
        let (error, isAtEnd) = BrokenDocument.skip(&window, problem, to: &end)
        if isAtEnd { try window.finish(leaving: error) }
        return error
    }

    /// Whether the next line that is not blank begins with a bracket. If so, this line should have been an array.
    private func nextLineBeginsArray(_ window: inout TextWindow) -> Bool {
        var looked = 0
        var isLineStart = false
        while looked <= values.limit {
            guard looked < window.count || window.fill() else { return false }
            switch window[looked] {
            case UInt8(ascii: "\n"): isLineStart = true
            case UInt8(ascii: "\r"): break
            case let byte:
                if isLineStart { return byte == UInt8(ascii: "[") }
            }
            looked += 1
        }
        return false
    }

    /// The error of a line that ends inside its array.
    private var truncatedLine: SourceDocumentError {
        SourceDocumentError(reason: .truncatedLine, place: lastEnd, start: lastEnd, text: [], isTruncated: false)
    }

    private static func expectedComma(_ byte: UInt8) -> SyntaxProblem {
        SyntaxProblem(.json(.unexpectedByte(byte, expected: .commaOrEndOfArray)), at: 0)
    }

    private func missingComma(_ place: TextPlace) -> SourceDocumentError {
        SourceDocumentError(
            reason: Self.expectedComma(UInt8(ascii: "{")).reason, place: place, start: place, text: [],
            isTruncated: false)
    }

    // MARK: - Between arrays

    /// Goes to the next array, if there is one.
    private mutating func beginArray(_ window: inout TextWindow) throws(SourceError) -> SourceItem? {
        window.skipMark()
        switch window.skipWhitespace() {
        case nil:
            try window.finish()
            state = .end
            return nil
        case UInt8(ascii: "["):
            window.drop(1)
            lastEnd = window.place
            state = .elementOrEnd
            return nil
        case UInt8(ascii: "{") where BackupMetadata.skip(&window): return nil
        case 0xEF where window.isAtMark: return nil
        case let byte?:
            let problem = SyntaxProblem(.json(.unexpectedByte(byte, expected: .endOfText)), at: 0)
            guard isArrayPerLine else { throw SourceError(.structure(problem.reason), at: window.place) }
            return .error(try skipLine(&window, problem))
        }
    }

    private mutating func endArray(_ window: inout TextWindow) throws(SourceError) {
        lastEnd = window.place
        state = frame == nil ? .beforeArray : .end
        guard frame != nil else { return }
        try AnswerFrame.readTail(&window)
        guard let byte = window.skipWhitespace() else { return try window.finish() }
        throw SourceError(.structure(.json(.unexpectedByte(byte, expected: .endOfText))), at: window.place)
    }

    // MARK: - Between elements

    /// The next byte that is not white space, not consumed. Nil if the last of several arrays is truncated.
    private func nextByte(_ window: inout TextWindow) throws(SourceError) -> UInt8? {
        guard isArrayPerLine else { return try window.nextByte() }
        guard let byte = window.skipWhitespace() else {
            try window.finish()
            return nil
        }
        return byte
    }

    private mutating func skipIndentation(_ window: inout TextWindow) {
        guard state != .afterElement else { return }
        indentation = []
        var isLineStart = false
        while window.count > 0 || window.fill(), window[0].isJSONWhitespace {
            if window[0] == UInt8(ascii: "\n") {
                isLineStart = true
                indentation = []
            } else if isLineStart, indentation.count < Self.indentationLimit {
                indentation.append(window[0])
            }
            window.drop(1)
        }
    }
}
