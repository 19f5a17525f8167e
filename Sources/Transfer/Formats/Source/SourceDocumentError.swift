internal import Encodings
package import LosslessJSON

/// A document of an input that can't be read, with the reason and its text.
package struct SourceDocumentError: Error, Equatable, Sendable {
    /// What is wrong with the document.
    package enum Reason: Equatable, Sendable {
        case json(JSONError.Reason)
        /// The JSON value is not an object.
        case notAnObject
        /// A row of a gateway's answer has no document: it was requested without `include_docs=true`.
        case noDocument
        /// A line of a couchbackup file ends inside its array.
        case truncatedLine
        /// MongoDB's wrapper of this name has invalid content.
        case extendedJSON(wrapper: String, expected: String)
        /// A cell is not of its column's type. The remedy has no values of the document.
        case cell(column: String, expected: CSVColumnType, remedy: String)
        case cellCount(found: Int, expected: Int, remedy: String)
        /// A closing quote is followed by neither a delimiter nor the end of the line.
        case textAfterQuote
        /// A cell's opening quote has no closing one.
        case openQuote
        /// A cell without quotes contains U+0000.
        case bareNUL
    }

    /// Has no values of the document.
    package let reason: Reason
    /// Where the error is.
    package let place: TextPlace
    /// Where ``text`` begins.
    package let start: TextPlace
    /// The broken text without surrounding white space, at most 1 MiB. Empty if only a separator was missing.
    package let text: [UInt8]
    /// Whether ``text`` is only the beginning of the broken text.
    package let isTruncated: Bool
    /// What to do, if the reason does not say it and a cause is probable. Has no values of the document.
    package var remedy: String?

    /// From 1, of ``place``.
    package var line: Int { place.line }
    /// From 1, in Unicode scalars, of ``place``.
    package var column: Int { place.column }
}

extension SourceDocumentError {
    /// A document that is valid JSON but not valid for another reason.
    ///
    /// - Parameter offset: Where in the document's text the error is.
    init(_ document: SourceDocument, _ reason: Reason, at offset: Int = 0) {
        let bytes = document.bytes
        self.init(
            reason: reason, place: document.place.advanced(over: Array(bytes[..<offset])), start: document.place,
            text: Array(bytes.prefix(BrokenDocument.keptLimit)), isTruncated: bytes.count > BrokenDocument.keptLimit)
    }
}

extension SourceDocumentError.Reason: CustomStringConvertible {
    private static let quoteRemedy = "write a quote that is part of the cell twice: \"a \"\"b\"\" c\""

    /// Has no values of the document: safe to log.
    package var description: String {
        switch self {
        case .json(let reason): JSONError(reason, at: 0).description
        case .notAnObject: "not a document: it must be an object"
        case .noDocument: "the row has no document; get the rows with include_docs=true"
        case .truncatedLine: "the line ends inside its array; if the backup was resumed, a later line has the documents"
        case .extendedJSON(let wrapper, let expected): "\(wrapper) needs \(expected)"
        case .cell(let column, let expected, let remedy):
            "column '\(column)': the cell is not \(expected.expectation); \(remedy)"
        case .cellCount(let found, let expected, let remedy):
            "\(found.counted("cell")) where the header has \(expected); \(remedy)"
        case .textAfterQuote: "text after the closing quote of a cell; \(Self.quoteRemedy)"
        case .openQuote: "the opening quote of a cell is never closed; close it, or \(Self.quoteRemedy)"
        case .bareNUL: "a NUL character outside quotes; the file is damaged or not text: remove it, or quote the cell"
        }
    }
}

extension SourceDocumentError: CustomStringConvertible {
    /// `LINE:COLUMN: REASON`, and the remedy if there is one.
    package var description: String { "\(place): \(reason)\(beginning)" + (remedy.map { "; \($0)" } ?? "") }

    /// Where the document begins, in parentheses. Empty if it is the line of the error. The error of a truncated
    /// document may be found on a later line.
    package var beginning: String { start.line < line ? " (the document begins on line \(start.line))" : "" }
}
