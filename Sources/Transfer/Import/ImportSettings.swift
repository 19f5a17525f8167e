package import DocumentFlow
package import Rules

/// What becomes of a document that is there already, or is not.
package enum ImportMode: String, Sendable, CaseIterable {
    /// Only what is new is written; what is there already is a conflict, and refused.
    case insert
    /// What is new is written, what is there is replaced as a whole. What is there already as it should be is left alone.
    case upsert
    /// A JSON Merge Patch (RFC 7396) onto what is there, or onto nothing.
    case merge
    /// Revisions as they are, with their ids and histories, deleted ones too.
    case restore
    /// What is there is deleted; of the input only the ids count.
    case delete
}

/// What is imported, and how. Every default is written here and nowhere else.
package struct ImportSettings: Sendable {
    /// What documents must be before any of them is written, and in which order they are.
    package enum Schema: String, Sendable, CaseIterable {
        case todo
    }

    /// A file, or `-` for stdin.
    package var path = "-"
    /// Nil: the file's name tells, or its first byte.
    package var format: InputFormat?
    /// Between the cells of a table.
    package var delimiter = CSVDelimiter.comma
    package var mode = ImportMode.insert
    /// What is made of each document before it is written.
    package var mapping: Mapping?
    /// Documents that are passed over unless it matches them, after the mapping.
    package var filter: DocumentFilter?
    /// The filter's text: another one is another import.
    package var selector: String?
    package var schema: Schema?
    /// The folder of an export's attachments. Nil: the one that the manifest names, if it is there.
    package var attachments: String?
    /// Whether a file with a manifest beside it must be what that tells of, with its attachments.
    package var checksManifest = true
    /// Where documents go that can't be written. Their reasons go into the file beside it. It may be the input: the
    /// reject file of an earlier import, which is replaced at the end.
    package var rejectPath: String?
    /// How far the import is, beside the input unless it is named. Nil: nobody is to go on with this import.
    package var progressPath: String?
    /// Goes on where an interrupted import ended.
    package var isResuming = false
    /// Takes what would be done as JSON, one object for each document. Nothing is written then.
    package var preview: (@Sendable ([UInt8]) throws -> Void)?
    package var retries = RetryPolicy.Settings()
    /// Stops the run when too many documents are rejected. Nil: it never does.
    package var errorLimit: ErrorLimit?
    /// Documents in one request.
    package var batchDocuments = 500
    /// Bytes in one request. A document larger than this goes alone.
    package var batchBytes = 1 << 20
    /// Requests under way at once.
    package var requests = 4
    /// Bytes under way at once; a document larger than this goes alone.
    package var byteBudget = 8 << 20
    /// Attachments that are larger than this are sent while they are read, from the folder or out of the document. Bytes;
    /// those of the base64 for the latter.
    package var streamedFrom = 256 << 10
    /// How much work a crash may cost.
    package var saveInterval: Duration = .seconds(1)

    package init() {}

    package static func progressPath(of input: String) -> String { input + ".import-progress" }

    /// Whether a dry run shows what would be written: a mapping makes other documents than those of the input.
    var showsDocuments: Bool { preview != nil && mapping != nil }
}
