package import DocumentFlow
package import GatewayClient
package import Rules

/// The options of a replication, with their defaults.
package struct ReplicationSettings: Sendable {
    /// Replicates only matching revisions. Nil: all.
    package var filter: DocumentFilter?
    /// The filter's text.
    package var selector: String?
    /// Maps documents during the replication. Nil: no mapping.
    package var mapping: Mapping?
    /// Replicates only documents in these channels of a Sync Gateway. Nil: all that the user may see.
    package var channels: [String]?
    /// Replicates only these documents. Nil: all.
    package var documentIDs: [DocumentID]?
    /// The policies that settle conflicts with an end that keeps one leaf, in both directions. Nil: conflicts remain.
    package var policies: ConflictPolicies?
    /// The policies' texts.
    package var policyTexts: [String] = []
    /// Whether to continue with changes as they happen. Default: false.
    package var isContinuous = false
    /// How failed requests to the source are retried. Each end's outages are tracked separately.
    package var sourceRetries = RetryPolicy.Settings()
    /// How failed requests to the target are retried.
    package var targetRetries = RetryPolicy.Settings()
    /// Stops the run when too many revisions can't be replicated. Nil: never.
    package var errorLimit: ErrorLimit?
    /// Changes per batch. Default: 500.
    package var batchChanges = 500
    /// Bytes of documents per request to the target. Default: 2 MiB.
    package var batchBytes = 2 << 20
    /// Batches that are replicated at the same time. Default: 4.
    package var workers = 4
    /// How often the checkpoint is saved. Default: 5 s.
    package var checkpointInterval: Duration = .seconds(5)
    /// A document's attachments are sent inline up to this many bytes in total; larger ones are streamed separately.
    /// Default: 256 KiB.
    package var inlineAttachmentBytes = 256 << 10

    /// Whether the log must name the end that refused a revision, because each end is a target. Default: false.
    var logsTarget = false

    package init() {}

    /// The text of the filters, for the replication's name. Empty: no filter.
    package var selection: String {
        var parts: [String] = []
        if let selector { parts.append("selector \(selector)") }
        if let channels { parts.append("channels \(channels.sorted().joined(separator: ","))") }
        if let documentIDs { parts.append("documents \(documentIDs.map(\.text).sorted().joined(separator: "\n"))") }
        if let mapping { parts.append("mapping \(mapping.hash)") }
        // A changed policy changes the name, so that conflicts left by a run without policies are found again.
        if !policyTexts.isEmpty { parts.append("policies \(policyTexts.joined(separator: "\n"))") }
        return parts.joined(separator: "\n")
    }
}
