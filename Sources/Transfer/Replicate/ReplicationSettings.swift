package import DocumentFlow
package import GatewayClient
package import Rules

/// The options of a replication, with their defaults.
package struct ReplicationSettings: Sendable {
    /// Replicates only matching revisions. Nil: all.
    package var filter: DocumentFilter?
    /// The filter's text.
    package var selector: String?
    /// Changes the shape of documents on their way. Nil: not at all.
    package var mapping: Mapping?
    /// Replicates only documents in these channels of a Sync Gateway. Nil: all that the user may see.
    package var channels: [String]?
    /// Replicates only these documents. Nil: all.
    package var documentIDs: [DocumentID]?
    /// Which policy settles conflicts with an end that keeps one leaf, in both directions. Nil: they are left.
    package var policies: ConflictPolicies?
    /// The policies' texts.
    package var policyTexts: [String] = []
    /// Whether to go on with changes as they happen. Default: false.
    package var isContinuous = false
    /// How failed requests to the source are repeated. Each end has an outage of its own.
    package var sourceRetries = RetryPolicy.Settings()
    /// How failed requests to the target are repeated.
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
    /// Attachments of a document are sent inside it up to this many bytes in all, larger ones as a stream of their own.
    /// Default: 256 KiB.
    package var inlineAttachmentBytes = 256 << 10

    /// Whether the log must say which end refused a revision, because each is a target. Default: false.
    var namesTarget = false

    package init() {}

    /// What limits the replication, for its name. Empty: nothing.
    package var selection: String {
        var parts: [String] = []
        if let selector { parts.append("selector \(selector)") }
        if let channels { parts.append("channels \(channels.sorted().joined(separator: ","))") }
        if let documentIDs { parts.append("documents \(documentIDs.map(\.text).sorted().joined(separator: "\n"))") }
        if let mapping { parts.append("mapping \(mapping.hash)") }
        // So conflicts that a run without policies has left are found again.
        if !policyTexts.isEmpty { parts.append("policies \(policyTexts.joined(separator: "\n"))") }
        return parts.joined(separator: "\n")
    }
}
