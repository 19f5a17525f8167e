/// The keys of the metadata of log lines that several places write. `LogField` formats values by their keys.
package enum LogKey {
    // MARK: - Documents

    /// A document's id.
    package static let id = "id"
    package static let revision = "revision"
    package static let keyspace = "keyspace"
    /// An attachment's name.
    package static let attachment = "attachment"

    // MARK: - Rules

    /// A rule's name.
    package static let rule = "rule"
    /// The names of rules, or their number.
    package static let rules = "rules"

    // MARK: - Sequences

    /// Where reading starts, or how far it has come.
    package static let since = "since"
    package static let checkpoint = "checkpoint"
    /// The newest sequence of the database.
    package static let newest = "newest"
    /// The last sequence of an export.
    package static let to = "to"

    // MARK: - Numbers

    package static let documents = "documents"
    package static let attachments = "attachments"
    package static let deadLetters = "dead_letters"

    // MARK: - Sizes

    package static let bytes = "bytes"
    /// How long until the next attempt.
    package static let wait = "wait"

    // MARK: - Texts

    /// Why something failed or is done.
    package static let reason = "reason"
    /// A gateway's URL.
    package static let gateway = "gateway"
    /// The server that a gateway is.
    package static let dialect = "dialect"
    /// The URL of something else than a gateway.
    package static let url = "url"
    /// A file's path.
    package static let file = "file"
    /// A manifest's path.
    package static let manifest = "manifest"
}
