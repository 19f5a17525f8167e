internal import DocumentFlow
package import GatewayClient
package import Logging
internal import Revisions
internal import Rules
internal import ServiceLifecycle

/// `changebot resolve`: finds documents with conflicting revisions in the feed, and resolves them by a policy.
///
/// On graceful shutdown it stops after the documents in progress. It may be killed or repeated at any time. Resolved
/// documents are no longer in conflict, and partly resolved documents get the same result.
package struct Resolver: Service {
    /// Receives one JSON object about a document that would be resolved.
    package typealias PreviewReceiver = @Sendable ([UInt8]) async throws -> Void

    private let gateway: Gateway
    private let settings: ResolveSettings
    private let report: ResolveReport
    private let logger: Logger
    private let show: PreviewReceiver

    /// - Parameters:
    ///   - report: Updated during the run.
    ///   - show: Called in a dry run.
    package init(
        gateway: Gateway, settings: ResolveSettings, report: ResolveReport, logger: Logger,
        show: @escaping PreviewReceiver = { _ in }
    ) {
        self.gateway = gateway
        self.settings = settings
        self.report = report
        self.logger = logger
        self.show = show
    }

    /// Returns at the end of the feed, or after a graceful shutdown or cancellation; `report.state.isStopped` tells
    /// which.
    ///
    /// - Throws: `RunError`, ``TransferError``, and what `show` throws.
    package func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await resolve() }
            log("looked for conflicts")
        } catch is CancellationError {
            report.update { $0.isStopped = true }
            log("stopped before the end")
        }
    }

    private func log(_ message: Logger.Message) {
        report.logWithoutPolicy(to: logger)
        logger.info(message, metadata: report.metadata)
    }

    private func resolve() async throws {
        let contact = GatewayContact(settings: settings.retries, logger: logger) { [report] in report.noteRetry() }
        let info = try await contact.connect(to: gateway)
        let newest = info.newestSequence
        if let expected = newest.flatMap({ SequenceID.start.distance(to: $0) }) {
            report.update { $0.expected = expected }
        }
        let resolution = DocumentResolution(gateway, contact, settings, report: report, logger: logger, show: show)
        var reader = FeedReader(
            gateway: gateway, end: .caughtUp(with: newest), retries: settings.retries, logger: logger,
            noteRetry: { [report] in report.noteRetry() })
        reader.selection.listsLeaves = true
        reader.selection.includesDocuments = false
        guard settings.policies.needAncestors, !settings.isDryRun else {
            return try await find(by: reader) { try await resolution.resolve($0) }
        }
        let spool = try ConflictSpool()
        try await find(by: reader) { try await resolution.readAhead($0, in: spool) }
        let count = await spool.count
        for start in stride(from: 0, to: count, by: settings.batchDocuments) {
            var documents: [ChangedDocument] = []
            for index in start..<min(start + settings.batchDocuments, count) {
                if let document = try await spool.document(at: index) { documents.append(document) }
            }
            try await resolution.resolve(documents, using: spool)
        }
    }

    /// Finds documents with several leaf revisions, in groups.
    private func find(
        by reader: FeedReader, _ receive: nonisolated(nonsending) ([ChangedDocument]) async throws -> Void
    ) async throws {
        var found: [ChangedDocument] = []
        try await reader.read(from: .start) { rows, _ in
            guard let rows else { return }
            report.update { $0.counters.changes += rows.count }
            for row in rows {
                let leaves = RevisionsReader.leaves(of: row).compactMap(\.revision)
                guard leaves.count > 1 else { continue }
                found.append(ChangedDocument(id: row.id, revisions: leaves))
                guard found.count >= settings.batchDocuments else { continue }
                try await receive(found)
                found = []
            }
        }
        try await receive(found)
    }
}
