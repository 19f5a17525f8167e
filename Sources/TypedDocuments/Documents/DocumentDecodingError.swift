public import GatewayClient

/// A document that does not fit its type. Nothing is lost: the document stays as it is.
public struct DocumentDecodingError: Error, Hashable, Sendable {
    /// Which document.
    public let id: DocumentID
    /// Which revision of it; nil if the gateway did not say.
    public let revision: RevisionID?
    /// The path to the value that does not fit: `taskList.id`, `items[2].name`. Empty for the whole document.
    public let keyPath: String
    /// What the type expects there: `text`, `a whole number`.
    public let expected: String
    /// What kind of value is there: `a number`, `null`; `nothing` if there is none.
    public let found: String
    /// The value as JSON, cut after 200 bytes; nil if there is none. May be private, so it is not in the description.
    public let value: String?

    init(_ id: DocumentID, _ revision: RevisionID?, _ misfit: Misfit) {
        self.id = id
        self.revision = revision
        keyPath = misfit.path
        expected = misfit.expected
        found = misfit.found
        value = misfit.value
    }

    /// What the gateway sent is no document.
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
