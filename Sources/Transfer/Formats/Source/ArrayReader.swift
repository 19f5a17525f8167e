internal import LosslessJSON

/// Reads the documents of one JSON array, or of the array in a gateway's answer.
///
/// A broken element is skipped if the start of the next one can be found: see ``ElementEnd``.
///
/// - Note: Source: `mongoexport --jsonArray`; CouchDB's answers to `_all_docs?include_docs=true` and its `_bulk_docs`
///   bodies.
struct ArrayReader: DocumentsReader {
    private enum State {
        case elementOrEnd, element, afterElement, end
    }

    /// The most white space before an element that is remembered, in bytes.
    private static let indentationLimit = 200

    /// Nil for a plain array.
    private let frame: AnswerFrame?
    private var values: ValueReader
    private var state = State.elementOrEnd
    /// White space before the element on its line; empty if the element does not begin the line.
    private var indentation: [UInt8] = []

    /// The window must be at the first element or at the array's end.
    init(_ frame: AnswerFrame?, documentLimit: Int) {
        self.frame = frame
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
        skipIndentation(&window)
        switch (state, try window.nextByte()) {
        case (.elementOrEnd, UInt8(ascii: "]")), (.afterElement, UInt8(ascii: "]")):
            window.drop(1)
            state = .end
            try readToEnd(&window)
            return nil
        case (.afterElement, UInt8(ascii: ",")):
            window.drop(1)
            state = .element
            return nil
        case (.afterElement, UInt8(ascii: "{")):
            state = .element
            return .error(missingComma(window.place))
        case (.afterElement, let byte):
            return .error(try skip(&window, Self.expectedComma(byte)))
        default:
            state = .afterElement
            return try readElement(&window)
        }
    }

    private mutating func readElement(_ window: inout TextWindow) throws(SourceError) -> SourceItem? {
        switch values.read(&window) {
        case .error(let error): return .error(try skip(&window, Breakage(error)))
        case .value(let tape, let end):
            let place = window.place
            let element = SourceDocument(text: JSONText(bytes: window.take(end), tape: tape), place: place)
            if frame == .rows { return Self.document(ofRow: element) }
            return element.text.root.kind == .object
                ? .document(element) : .error(SourceDocumentError(element, .notAnObject))
        }
    }

    /// Nil for the row of a deleted document, which has none.
    private static func document(ofRow row: SourceDocument) -> SourceItem? {
        let root = row.text.root
        if let document = root["doc"], document.kind == .object, let text = document.copied() {
            let before = Array(row.bytes[..<document.range.lowerBound])
            return .document(SourceDocument(text: text, place: row.place.advanced(over: before)))
        }
        return root["value"]?["deleted"]?.bool == true ? nil : .error(SourceDocumentError(row, .noDocument))
    }

    // MARK: - Broken elements

    private func skip(_ window: inout TextWindow, _ breakage: Breakage) throws(SourceError) -> SourceDocumentError {
        var end = ElementEnd(indentation: indentation)
        let (error, isAtEnd) = BrokenText.skip(&window, breakage, to: &end)
        guard isAtEnd else { return error }
        try window.finish(leaving: error)
        throw SourceError(.structure(error.reason), at: error.place, broken: error)
    }

    private static func expectedComma(_ byte: UInt8) -> Breakage {
        Breakage(.json(.unexpectedByte(byte, expected: .commaOrEndOfArray)), at: 0)
    }

    private func missingComma(_ place: TextPlace) -> SourceDocumentError {
        SourceDocumentError(
            reason: Self.expectedComma(UInt8(ascii: "{")).reason, place: place, start: place, text: [], isCut: false)
    }

    // MARK: - Between elements

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

    private func readToEnd(_ window: inout TextWindow) throws(SourceError) {
        if frame != nil { try AnswerFrame.readTail(&window) }
        guard let byte = window.skipWhitespace() else { return try window.finish() }
        throw SourceError(.structure(.json(.unexpectedByte(byte, expected: .endOfText))), at: window.place)
    }
}
