package import DocumentFlow
internal import Revisions
package import Rules

/// The options of `changebot resolve`, with their defaults.
package struct ResolveSettings: Sendable {
    /// Which policy resolves which documents. A document for which there is none is left as it is.
    package var policies: ConflictPolicies
    /// Resolves only documents whose winner matches. Nil: all.
    package var filter: DocumentFilter?
    /// Whether only to show what would be done. Default: false.
    package var isDryRun = false
    /// How failed requests are repeated.
    package var retries = RetryPolicy.Settings()
    /// Stops the run when too many documents can't be resolved. Nil: never.
    package var errorLimit: ErrorLimit?
    /// Documents in conflict that are in memory at the same time, with all their leaves. Default: 20.
    package var batchDocuments = 20
    /// Attachments that a merged document takes from losing leaves are sent inside it up to this many bytes in all, larger
    /// ones as a stream of their own. Default: 256 KiB.
    package var inlineAttachmentBytes = ConflictResolver.inlineAttachmentBytes

    package init(policies: ConflictPolicies) { self.policies = policies }
}
