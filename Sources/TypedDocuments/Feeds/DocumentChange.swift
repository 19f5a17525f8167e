public import GatewayClient

/// One change of a keyspace's feed.
public struct DocumentChange<Document: DocumentCodable>: Sendable {
    /// What happened to the document.
    public enum Content: Sendable {
        /// It was created or changed.
        case document(Document)
        /// It was deleted. A tombstone does not show the document's type.
        case deleted
        /// This user no longer sees it (Sync Gateway). The change does not show the document's type.
        case inaccessible
        /// It does not fit the type. The feed continues.
        case undecodable(DocumentDecodingError)
    }

    /// The sequence after this change, for ``Keyspace/changes(since:as:)`` after a restart.
    public let sequence: SequenceID
    /// The document's id.
    public let id: DocumentID
    /// What happened to the document.
    public let content: Content
}

/// What happened to the documents that a live query matches.
public enum LiveChange<Document: DocumentCodable>: Sendable {
    /// A document matches that did not match before. Includes the documents that match initially.
    case inserted(Document)
    /// A matching document has changed and still matches.
    case updated(Document)
    /// A document no longer matches: it was changed or deleted, or this user no longer sees it.
    case removed(DocumentID)
    /// All initial documents were delivered. Occurs once.
    case upToDate
    /// A document matches, but does not fit the type. If it was delivered before, it counts as removed.
    case undecodable(DocumentDecodingError)
}
