public import GatewayClient

/// One change of a keyspace's feed.
public struct DocumentChange<Document: DocumentCodable>: Sendable {
    /// What has become of the document.
    public enum Content: Sendable {
        /// It was created or changed.
        case document(Document)
        /// It was deleted. A tombstone does not say of which type the document was.
        case deleted
        /// This user no longer sees it (Sync Gateway). Nor does that say of which type it was.
        case inaccessible
        /// It does not fit the type. The feed goes on.
        case misfit(DocumentDecodingError)
    }

    /// Where the feed continues after this change: for ``Keyspace/changes(since:as:)`` after a restart.
    public let sequence: SequenceID
    /// Which document.
    public let id: DocumentID
    /// What has become of it.
    public let content: Content
}

/// What happened to the documents that a live query matches.
public enum LiveChange<Document: DocumentCodable>: Sendable {
    /// A document matches that did not before: those that are there at first, too.
    case inserted(Document)
    /// A document that matches has changed, and still matches.
    case updated(Document)
    /// A document matches no longer: it was changed or deleted, or this user no longer sees it.
    case removed(DocumentID)
    /// All that was there at first has come. Comes once.
    case upToDate
    /// A document matches, but does not fit the type. If it was there before, it counts as removed.
    case misfit(DocumentDecodingError)
}
