package import DocumentFlow
package import Rules

/// What to do with documents that already exist, or do not exist.
package enum ImportMode: String, Sendable, CaseIterable {
    /// Writes new documents only; an existing one is a conflict and is rejected.
    case insert
    /// Writes new documents and replaces existing ones as a whole, unless they are equivalent.
    case upsert
    /// Applies each document as a JSON Merge Patch (RFC 7396) to the existing one, or to an empty object.
    case merge
    /// Stores revisions with their ids and histories, including deletions (`new_edits:false`).
    case restore
    /// Deletes existing documents. Only the ids of the input are used.
    case delete
}

/// The options of an import. Every default is defined here only.
package struct ImportSettings: Sendable {
    /// The schema that documents must match, and the order in which they are written.
    package enum Schema: String, Sendable, CaseIterable {
        case todo
    }

    /// The input: a file, or `-` for stdin (default).
    package var path = "-"
    /// Nil to detect it from the file's name or the first byte.
    package var format: InputFormat?
    /// The delimiter between the cells of a table. Default: a comma.
    package var delimiter = CSVDelimiter.comma
    /// Default: `insert`.
    package var mode = ImportMode.insert
    /// The mapping that is applied to each document first. It may make several documents from one, or none. Nil: no
    /// mapping.
    package var mapping: Mapping?
    /// Skips documents that don't match, after the mapping. Nil: skips none.
    package var filter: DocumentFilter?
    /// The filter's text. A run with a different text can't resume this import.
    package var selector: String?
    /// The policies that decide between an imported document and the gateway's, in the modes ``ImportMode/insert`` and
    /// ``ImportMode/restore``. Nil: the imported document is rejected.
    package var policies: ConflictPolicies?
    /// Nil: documents are not checked and are written in the input's order.
    package var schema: Schema?
    /// The folder of an export's attachments. Nil: the folder that the manifest names, if it exists.
    package var attachments: String?
    /// Whether a file with a manifest must match it, and its attachment folder must exist. Default: true.
    package var checksManifest = true
    /// The file for rejected documents; the reasons are written to this path with `.reasons` added. It may be the input
    /// itself, the reject file of an earlier import, and is then replaced at the end. Nil: rejected documents are not
    /// kept.
    package var rejectPath: String?
    /// The file that keeps the progress. Nil: this import can't be resumed.
    package var progressPath: String?
    /// Whether to resume an interrupted import. Default: false.
    package var isResuming = false
    /// Makes this a dry run: nothing is written, and the closure gets one JSON object per document.
    package var preview: (@Sendable ([UInt8]) throws -> Void)?
    /// How long and how often failed requests are retried.
    package var retries = RetryPolicy.Settings()
    /// Stops the run when too many documents are rejected. Nil: never.
    package var errorLimit: ErrorLimit?
    /// The maximum number of documents per request. Default: 500.
    package var batchDocuments = 500
    /// The maximum number of bytes per request; a larger document is sent alone. Default: 1 MiB.
    package var batchBytes = 1 << 20
    /// The maximum number of concurrent requests. Default: 4.
    package var requests = 4
    /// The maximum number of bytes in all concurrent requests; a larger document is sent alone. Default: 8 MiB.
    package var byteBudget = 8 << 20
    /// Attachments with more bytes than this are streamed while they are read. For inline attachments, the base64
    /// counts. Default: 256 KiB.
    package var streamingThreshold = 256 << 10
    /// How often progress is saved: a crash loses at most this much work. Default: 1 s.
    package var saveInterval: Duration = .seconds(1)

    /// The defaults.
    package init() {}

    /// The default path of the progress file: next to the input.
    package static func progressPath(of input: String) -> String { input + ".import-progress" }

    /// Whether a dry run shows the documents that would be written, because a mapping changes the input's documents.
    var showsDocuments: Bool { preview != nil && mapping != nil }
}
