/// The keys of the metadata of log lines. `LogField` formats values by their keys.
package enum LogKey {
    // MARK: - Documents

    /// A document's id.
    package static let id = "id"
    package static let ids = "ids"
    package static let revision = "revision"
    package static let keyspace = "keyspace"
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

    /// Where reading starts, or how far it has come.
    package static let since = "since"
    package static let checkpoint = "checkpoint"
    /// The newest sequence of the database.
    package static let newest = "newest"
    /// The sequence before.
    package static let from = "from"
    /// The sequence after, or the last one of an export.
    package static let to = "to"
    /// When a checkpoint was saved.
    package static let savedAt = "saved_at"

    // MARK: - Numbers

    package static let documents = "documents"
    package static let attachments = "attachments"
    package static let deadLetters = "dead_letters"
    package static let revisions = "revisions"
    /// How often something happened.
    package static let times = "times"
    /// How many others there are.
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
    /// Conflicts of which one leaf stayed as it was.
    package static let kept = "kept"
    /// Conflicts of which a new revision was made.
    package static let merged = "merged"
    /// What a dry run says instead: `would_insert`.
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
    /// How many leaves a document had.
    package static let leaves = "leaves"

    // MARK: - Sizes

    package static let bytes = "bytes"
    /// How long until the next attempt.
    package static let wait = "wait"

    // MARK: - Texts

    /// Why something failed or is done.
    package static let reason = "reason"
    /// The name of a fault of the embedded gateway.
    package static let fault = "fault"
    /// What a fault does.
    package static let what = "what"
    /// The names of a table's columns.
    package static let columns = "columns"
    /// The address of a database before.
    package static let before = "before"
    /// The address of a database now.
    package static let now = "now"
    /// The addresses of other databases.
    package static let others = "others"
    /// When a document expires.
    package static let expiry = "expiry"
    /// A member of a fleet, as `changebot fleet status` names it.
    package static let member = "member"
    /// The name of a fleet.
    package static let fleet = "fleet"
    /// The process that runs.
    package static let holder = "holder"
    /// The process that ran before.
    package static let predecessor = "predecessor"
    /// By how much a clock is ahead or behind.
    package static let difference = "difference"
    /// A gateway's URL.
    package static let gateway = "gateway"
    package static let target = "target"
    /// The server that a gateway is.
    package static let dialect = "dialect"
    /// The URL of something else than a gateway.
    package static let url = "url"
    /// A file's path.
    package static let file = "file"
    /// A manifest's path.
    package static let manifest = "manifest"
}
