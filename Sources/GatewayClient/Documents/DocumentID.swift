/// The id of a document. Equal only if its bytes are: for a gateway, two spellings of "é" are two documents.
public struct DocumentID: ByteText {
    /// As in `_id`, not percent-encoded.
    public let text: String

    /// Takes any text: only the gateway knows which ids it accepts.
    public init(_ text: String) { self.text = text }
}

extension DocumentID: ExpressibleByStringLiteral {
    /// As ``init(_:)``, for ids in source code.
    public init(stringLiteral text: String) { self.init(text) }
}
