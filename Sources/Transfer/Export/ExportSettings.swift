package import DocumentFlow
package import GatewayClient
package import Rules

/// The options of an export, with their defaults. The command line and ``ExportOptions`` repeat a few of them.
package struct ExportSettings: Sendable {
    /// Where an incremental export starts.
    package enum Start: Sendable, Equatable {
        case sequence(SequenceID)
        /// The end of the export whose manifest is at this path.
        case manifest(String)
    }

    /// How documents are written. Default: NDJSON.
    package var format = OutputFormat.ndjson
    /// Delimiter and columns; used only for tables.
    package var table = CSVOptions()
    /// Where the bytes of attachments go. Default: they are left out, and documents keep stubs.
    package var attachments = ExportOptions.Attachments.none
    /// Exports only matching documents. Nil: all.
    package var filter: DocumentFilter?
    /// The filter's text, for the manifest.
    package var selector: String?
    /// Exports only documents in these Sync Gateway channels. Nil: all that the user may see.
    package var channels: [String]?
    /// Exports only changes since then, including deletions. Nil: all documents that are not deleted.
    package var since: Start?
    /// Whether to export every leaf revision with its history, including deleted leaves. Default: false.
    package var includesRevisions = false
    /// Whether the export may replace any file. Default: false. Then it only replaces an earlier export of the same
    /// kind from the same database.
    package var overwrites = false
    /// Whether to resume an interrupted export. Default: false.
    package var isResuming = false
    /// How long and how often failed requests are retried.
    package var retries = RetryPolicy.Settings()
    /// Stops the run when too many documents can't be exported. Nil: never.
    package var errorLimit: ErrorLimit?
    /// How often progress is saved: a crash loses at most this much work. Default: 2 s.
    package var saveInterval: Duration = .seconds(2)
    /// Documents per `_all_docs` request. Default nil: the size adapts to the gateway.
    package var pageSize: Int?
    /// Name and version of this program for the manifest. Default: `changebot`.
    package var tool = "changebot"

    /// The defaults.
    package init() {}

    /// Whether tombstones are exported too.
    var reportsDeletions: Bool { since != nil || includesRevisions }
}

extension ExportOptions {
    /// - Parameters:
    ///   - since: The sequence that the settings' start was resolved to; nil for a full export.
    ///   - isCompressed: Whether the output is compressed with gzip.
    package init(_ settings: ExportSettings, since: SequenceID?, isCompressed: Bool) {
        self.init()
        format = settings.format
        self.isCompressed = isCompressed
        attachments = settings.attachments
        selector = settings.selector
        channels = settings.channels
        self.since = since
        includesRevisions = settings.includesRevisions
        if format.isTable { table = settings.table }
    }
}
