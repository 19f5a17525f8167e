package import LosslessJSON

/// Why a document of an input can't be read, and its text.
package struct SourceFault: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable {
        case json(JSONFault.Reason)
        /// A value, but no object.
        case notAnObject
        /// A row of a gateway's answer that has no document: it was asked for without `include_docs=true`.
        case noDocument
        /// Something in MongoDB's wrapper of this name is not what it must be.
        case extendedJSON(wrapper: String, expected: String)
        /// A cell is not of its column's type.
        case cell(column: String, expected: CSVColumnType)
        case cellCount(found: Int, expected: Int)
        /// Behind a closing quote stands neither a comma nor the end of the line.
        case textBehindQuote
        /// A cell's opening quote has no closing one.
        case openQuote
    }

    package let reason: Reason
    /// The very place.
    package let place: TextPlace
    /// Where ``text`` begins.
    package let start: TextPlace
    /// The broken text, without the white space around it. Empty if only a separator was missing.
    package let text: [UInt8]
    /// Whether ``text`` is only the beginning of it.
    package let isCut: Bool

    package var line: Int { place.line }
    package var column: Int { place.column }
}

extension SourceFault {
    /// A document that is JSON, but not what it should be.
    ///
    /// - Parameter offset: Of what is wrong in the document's text.
    init(_ document: SourceDocument, _ reason: Reason, at offset: Int = 0) {
        let bytes = document.bytes
        self.init(
            reason: reason, place: document.place.advanced(over: Array(bytes[..<offset])), start: document.place,
            text: Array(bytes.prefix(BrokenText.keptLimit)), isCut: bytes.count > BrokenText.keptLimit)
    }
}

extension SourceFault.Reason: CustomStringConvertible {
    /// Without any of the document's values: safe to log.
    package var description: String {
        switch self {
        case .json(let reason): JSONFault(reason, at: 0).description
        case .notAnObject: "not a document: it must be an object"
        case .noDocument: "the row has no document; get the rows with include_docs=true"
        case .extendedJSON(let wrapper, let expected): "\(wrapper) needs \(expected)"
        case .cell(let column, let expected): "column '\(column)': the cell is not \(expected.expectation)"
        case .cellCount(let found, let expected): "\(found) cells where the header has \(expected)"
        case .textBehindQuote: "text behind the closing quote of a cell"
        case .openQuote: "the quote that opens a cell is never closed"
        }
    }
}

extension SourceFault: CustomStringConvertible {
    /// `LINE:COLUMN: REASON`.
    package var description: String { "\(place): \(reason)" }
}
