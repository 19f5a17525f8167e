public import GatewayClient

/// An error for a document that does not fit its type. The document itself is not changed.
public struct DocumentDecodingError: Error, Hashable, Sendable {
    /// The document's id.
    public let id: DocumentID
    /// The document's revision; nil if the gateway did not say.
    public let revision: RevisionID?
    /// The path to the value that does not fit: `taskList.id`, `items[2].name`. Empty for the whole document.
    public let keyPath: String
    /// The type's expectation: `text`, `a whole number`.
    public let expected: String
    /// The kind of value found: `a number`, `null`; `nothing` if there is none.
    public let found: String
    /// The value as JSON, truncated to 200 bytes; nil if there is none. May be private, so it is not in the
    /// description.
    public let value: String?

    init(_ id: DocumentID, _ revision: RevisionID?, _ mismatch: TypeMismatch) {
        self.id = id
        self.revision = revision
        keyPath = mismatch.path
        expected = mismatch.expected
        found = mismatch.found
        value = mismatch.value
    }

    /// The error for an answer that is not a document.
    init(_ id: DocumentID, _ revision: RevisionID?, expected: String, found: String) {
        self.id = id
        self.revision = revision
        (keyPath, value) = ("", nil)
        self.expected = expected
        self.found = found
    }
}

extension DocumentDecodingError: CustomStringConvertible {
    /// `document 't1': taskList.id must be text, but is a number`. Without the value.
    public var description: String {
        let place = keyPath.isEmpty ? "it" : keyPath
        let fault =
            found == "nothing"
            ? "\(place) is missing: it must be \(expected)" : "\(place) must be \(expected), but is \(found)"
        return "document '\(id)': \(fault)"
    }
}
