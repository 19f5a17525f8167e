package import DocumentFlow
internal import Revisions
package import Rules

/// The options of `changebot resolve`, with their defaults.
package struct ResolveSettings: Sendable {
    /// The policies by which documents are resolved. A document without a policy stays in conflict.
    package var policies: ConflictPolicies
    /// Resolves only documents whose winning revision matches. Nil: all.
    package var filter: DocumentFilter?
    /// Whether to only show what would be done. Default: false.
    package var isDryRun = false
    /// How failed requests are retried.
    package var retries = RetryPolicy.Settings()
    /// Stops the run when too many documents can't be resolved. Nil: never.
    package var errorLimit: ErrorLimit?
    /// The maximum number of documents in conflict that are held in memory together, with all their leaves. Default:
    /// 20.
    package var batchDocuments = 20
    /// The leaves that are held in memory together, in bytes, unless they are of one document. Default: 2 MiB.
    package var portionBytes = ConflictResolver.groupBytes
    /// The attachments that a merged document takes from losing leaves are sent inline up to this many bytes in total;
    /// larger ones are streamed separately. Default: 256 KiB.
    package var inlineAttachmentBytes = ConflictResolver.inlineAttachmentBytes

    package init(policies: ConflictPolicies) { self.policies = policies }
}
