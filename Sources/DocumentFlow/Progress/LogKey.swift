/// The metadata keys of log lines. `LogField` formats values by key.
package enum LogKey {
    // MARK: - Documents

    /// A document's id.
    package static let id = "id"
    package static let ids = "ids"
    package static let revision = "revision"
    package static let keyspace = "keyspace"
    /// The name of one of many databases.
    package static let database = "database"
    /// An attachment's name.
    package static let attachment = "attachment"

    // MARK: - Rules

    /// A rule's name.
    package static let rule = "rule"
    /// The names of rules, or their number.
    package static let rules = "rules"
    /// A Mango selector.
    package static let selector = "selector"

    // MARK: - Sequences

    /// The sequence where reading starts, or that it has reached.
    package static let since = "since"
    package static let checkpoint = "checkpoint"
    /// The newest sequence of the database.
    package static let newest = "newest"
    /// The previous sequence.
    package static let from = "from"
    /// The next sequence, or the last one of an export.
    package static let to = "to"
    /// When a checkpoint was saved.
    package static let savedAt = "saved_at"

    // MARK: - Numbers

    package static let documents = "documents"
    package static let attachments = "attachments"
    package static let deadLetters = "dead_letters"
    package static let revisions = "revisions"
    /// The number of times that something happened.
    package static let times = "times"
    /// The number of further items.
    package static let more = "more"
    /// The number of a line of a file.
    package static let line = "line"

    // MARK: - Documents by outcome

    package static let inserted = "inserted"
    package static let changed = "changed"
    package static let deleted = "deleted"
    package static let unchanged = "unchanged"
    package static let rejected = "rejected"
    package static let written = "written"
    package static let conflicts = "conflicts"
    package static let resolved = "resolved"
    package static let settled = "settled"
    package static let filtered = "filtered"
    /// Documents in conflict that no policy covers.
    package static let withoutPolicy = "without_policy"
    /// Types of documents with their numbers, as one text.
    package static let types = "types"
    /// Conflicts resolved by keeping one leaf.
    package static let kept = "kept"
    /// Conflicts resolved by a new revision.
    package static let merged = "merged"
    /// The keys of a dry run: `would_insert`.
    package static let wouldInsert = "would_insert"
    package static let wouldChange = "would_change"
    package static let wouldDelete = "would_delete"
    package static let wouldReject = "would_reject"
    package static let wouldResolve = "would_resolve"
    package static let wouldKeep = "would_keep"
    package static let wouldMerge = "would_merge"
    package static let wouldDeadLetter = "would_dead_letter"
    /// How a conflict was resolved.
    package static let policy = "policy"
    /// The number of leaves of a document.
    package static let leaves = "leaves"

    // MARK: - Sizes

    package static let bytes = "bytes"
    /// The time until the next attempt.
    package static let wait = "wait"

    // MARK: - Texts

    /// Why something failed or was done.
    package static let reason = "reason"
    /// The name of a fault of the embedded gateway.
    package static let fault = "fault"
    /// The effect of a fault.
    package static let what = "what"
    /// The names of a table's columns.
    package static let columns = "columns"
    /// The previous address of a database.
    package static let before = "before"
    /// The new address of a database.
    package static let now = "now"
    /// The addresses of other databases.
    package static let others = "others"
    /// When a document expires.
    package static let expiry = "expiry"
    /// A member of a fleet, by its name in `changebot fleet status`.
    package static let member = "member"
    /// The name of a fleet.
    package static let fleet = "fleet"
    /// The process that is running.
    package static let holder = "holder"
    /// The process that ran previously.
    package static let predecessor = "predecessor"
    /// The offset of a clock.
    package static let difference = "difference"
    /// A gateway's URL.
    package static let gateway = "gateway"
    package static let target = "target"
    /// The server that a gateway is.
    package static let dialect = "dialect"
    /// The URL of a server other than a gateway.
    package static let url = "url"
    /// A file's path.
    package static let file = "file"
    /// A manifest's path.
    package static let manifest = "manifest"
}
