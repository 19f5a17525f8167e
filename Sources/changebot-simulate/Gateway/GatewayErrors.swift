/// Errors of a simulated gateway, for ``Breakage``.
struct GatewayErrors {
    /// Whether compaction forgets the bodies of losing leaves.
    var forgetsLeaves = false
    /// Whether a feed that lags ends at the newest sequence.
    var hidesLag = false
    /// Which writes it acknowledges without storing them.
    var losesWrite: (String, StoredRevision.Author) -> Bool = { _, _ in false }
    /// Whether bots may write without the current revision.
    var ignoresRevisions = false
    /// Whether a replaced database looks like the old one.
    var hidesResets = false
    /// Whether the feed forgets skipped sequences.
    var forgetsSkipped = false
    /// Whether the stubs in writes of bots are dropped.
    var losesStubs = false
    /// Whether revisions with ids are acknowledged and not stored, or replace the winner.
    var losesReplicated = false
    var deletesWinner = false
    /// Whether a merged revision gets the content of the revision before it.
    var losesMerged = false
}
