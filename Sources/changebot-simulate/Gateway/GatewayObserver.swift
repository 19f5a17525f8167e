internal import LosslessJSON

/// What is called with the events of a simulated gateway.
struct GatewayObserver {
    /// Called after each new revision, with the one that it replaced.
    var noteWrite: (StoredDocument, StoredRevision, StoredRevision?) -> Void = { _, _, _ in }
    /// Called with each `_local` document that is written.
    var noteLocalWrite: (String, JSONValue) -> Void = { _, _ in }
    /// Called with each sequence that is skipped.
    var noteSkip: (Int) -> Void = { _ in }
    /// Called when a feed is read from its beginning.
    var noteFeedFromBeginning: () -> Void = {}
    /// Called with each document that a bot looks up, and its winner.
    var noteLookup: (String, StoredRevision?, StoredRevision.Author) -> Void = { _, _, _ in }
    /// Called with each document that a bot reads by its id.
    var noteRead: (StoredDocument, StoredRevision.Author) -> Void = { _, _ in }
}
