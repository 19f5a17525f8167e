package import DocumentFlow
package import GatewayClient
package import Rules

/// What an export is to hold, and where it goes. Every default is written here and nowhere else.
package struct ExportSettings: Sendable {
    package enum Start: Sendable, Equatable {
        case sequence(SequenceID)
        /// Where the export that this manifest belongs to ended.
        case manifest(String)
    }

    package var format = OutputFormat.ndjson
    /// Of a table.
    package var table = CSVOptions()
    package var attachments = ExportOptions.Attachments.none
    /// Only documents that this matches.
    package var filter: DocumentFilter?
    /// The filter's text, for the manifest.
    package var selector: String?
    /// Only what is in these channels of a Sync Gateway. Nil: all that the user may see.
    package var channels: [String]?
    /// Only what changed since then, deletions included. Nil: everything that lives.
    package var since: Start?
    /// Every leaf revision with its history, deleted ones too.
    package var includesRevisions = false
    /// Whether it may take the place of any file. Otherwise only of an earlier export of the same kind, from the same
    /// database.
    package var overwrites = false
    /// Goes on where an interrupted export ended.
    package var isResuming = false
    package var retries = RetryPolicy.Settings()
    /// Stops the run when too many documents can't be read. Nil: it never does.
    package var errorLimit: ErrorLimit?
    /// How much work a crash may cost.
    package var saveInterval: Duration = .seconds(2)
    /// Documents asked for in one request.
    package var pageSize = 10_000
    /// Who writes the manifest.
    package var tool = "changebot"

    package init() {}

    /// Whether documents that are gone are told of too.
    var tellsOfDeletions: Bool { since != nil || includesRevisions }
}

extension ExportOptions {
    package init(_ settings: ExportSettings, since: SequenceID?, isPacked: Bool) {
        self.init()
        format = settings.format
        self.isPacked = isPacked
        attachments = settings.attachments
        selector = settings.selector
        channels = settings.channels
        self.since = since
        includesRevisions = settings.includesRevisions
        if format.isTable { table = settings.table }
    }
}
