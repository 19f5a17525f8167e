internal import DocumentFlow
internal import GatewayClient
package import Logging
internal import ServiceLifecycle

/// `changebot replicate`: copies revisions from one keyspace to another, as CouchDB's replicator does: with their ids,
/// histories and attachments, including tombstones and conflicting leaves.
///
/// It reads the source's feed from the newest checkpoint that both ends know, and works on several batches at once. On
/// graceful shutdown it stops, saves the checkpoint and returns. If it is killed, the next run starts at the last
/// checkpoint and compares the rest again, which changes nothing. If a database is recreated meanwhile, it continues
/// from the last checkpoint that both ends still have.
package struct Replicator: Service {
    private let source: ReplicationEnd
    private let target: ReplicationEnd
    private let settings: ReplicationSettings
    private let report: ReplicationReport
    private let logger: Logger
    private let direction: Direction
    private let settling: SettlementContext?

    enum Direction {
        /// The only direction.
        case only
        /// The first of two directions: they share a report, and their end is logged together.
        case forward
        /// The second direction, whose sequence is not reported.
        case backward
    }

    /// - Parameter report: Updated during the run.
    package init(
        from source: ReplicationEnd, to target: ReplicationEnd, settings: ReplicationSettings,
        report: ReplicationReport, logger: Logger
    ) {
        self.init(
            from: source, to: target, settings: settings, direction: .only, settling: nil, report: report,
            logger: logger)
    }

    /// - Parameter settling: How conflicts are settled; nil if they are not.
    init(
        from source: ReplicationEnd, to target: ReplicationEnd, settings: ReplicationSettings, direction: Direction,
        settling: SettlementContext?, report: ReplicationReport, logger: Logger
    ) {
        self.settling = settling
        self.direction = direction
        self.source = source
        self.target = target
        self.settings = settings
        self.report = report
        self.logger = logger
    }

    /// Returns when the target has everything, or after a graceful shutdown or cancellation; `report.state.isStopped`
    /// tells which.
    ///
    /// - Throws: `RunError`, ``TransferError``.
    package func run() async throws {
        while true {
            do {
                try await runUntilAnEndChanges()
                if direction == .only { report.logEnd(to: logger) }
                return
            } catch let change as EndChanged {
                logger.warning(
                    "a database was restarted or recreated; continuing from the last common checkpoint",
                    metadata: [LogKey.gateway: "\(change.url)"])
            }
        }
    }

    /// - Throws: Also ``EndChanged``.
    private func runUntilAnEndChanges() async throws {
        let id = ReplicationID(from: source.identity, to: target.identity, selection: settings.selection)
        let checkpoints = ReplicationCheckpoints(
            id: id.name, ends: [source, target], interval: settings.checkpointInterval, report: report,
            reportsSequence: direction != .backward, logger: logger)
        do {
            try await cancelWhenGracefulShutdown { try await replicate(checkpoints) }
            try await checkpoints.save()
        } catch let change as EndChanged {
            throw change
        } catch is CancellationError {
            report.update { $0.isStopped = true }
            try? await checkpoints.save(isLast: true)
        } catch {
            try? await checkpoints.save(isLast: true)
            throw error
        }
    }

    private func replicate(_ checkpoints: ReplicationCheckpoints) async throws {
        let info = try await source.contact.connect(to: source.gateway)
        let targetInfo = try await target.contact.connect(to: target.gateway)
        try source.gateway.check(channels: settings.channels)
        let servers = (try? await source.gateway.serverInfo(), try? await target.gateway.serverInfo())
        try checkEndsDiffer(info, servers.0, targetInfo, servers.1)
        if settling != nil, direction == .forward, source.gateway.dialect == .couchDB,
            target.gateway.dialect == .couchDB
        {
            logger.notice("both ends keep conflicting revisions, so the policy has no effect; use resolve")
        }
        let start = try await checkpoints.begin(
            others: couchDBJobNames(servers.0, servers.1), instances: [info.instance, targetInfo.instance],
            // Named documents are compared again, whatever their earlier outcome.
            startsOver: settings.documentIDs != nil)
        let newest = info.newestSequence
        if let ahead = newest.flatMap({ start.distance(to: $0) }) {
            report.update { $0.expected = ($0.expected ?? 0) + ahead }
        }
        let transfer = RevisionTransfer(
            from: source, to: target, settings, settling: settling, report: report, logger: logger)
        let batches = ReplicationBatches(settings, transfer: transfer, checkpoints: checkpoints, report: report)
        var reader = FeedReader(
            gateway: source.gateway, end: settings.isContinuous ? .never : .caughtUp(with: newest),
            retries: settings.sourceRetries, logger: logger,
            noteRetry: { [report] in report.update { $0.retries += 1 } })
        reader.selection.channels = settings.channels
        reader.selection.documentIDs = settings.documentIDs
        reader.selection.listsLeaves = true
        reader.selection.includesDocuments = false
        reader.logsCaughtUp = settings.isContinuous
        reader.listener.confirmDatabase = { try await checkpoints.checkEnds() }
        let missing = try await batches.replicate(reader, from: start).map(\.text).sorted()
        // In a two-way replication, they may come from the other end.
        guard !missing.isEmpty, direction == .only else { return }
        logger.warning(
            "the source does not have all of these documents",
            metadata: [
                LogKey.gateway: "\(source.gateway.url)",
                LogKey.ids: .array(missing.prefix(RepeatedMessages.limit).map { "\($0)" }),
            ])
    }

    /// - Throws: `RunError` if both ends are the same database.
    private func checkEndsDiffer(
        _ source: DatabaseInfo, _ sourceServer: ServerInfo?, _ target: DatabaseInfo, _ targetServer: ServerInfo?
    ) throws(RunError) {
        guard let server = sourceServer?.identity, server == targetServer?.identity,
            self.source.gateway.url.keyspace == self.target.gateway.url.keyspace, source.name == target.name,
            source.instance == target.instance
        else { return }
        throw RunError(
            .badConfiguration,
            "source and target are the same database, \(self.source.gateway.url): there is nothing to replicate")
    }

    /// The names that CouchDB's own replicator would give this job, if it runs on one of the ends.
    private func couchDBJobNames(_ servers: ServerInfo?...) -> [String] {
        guard settings.selection.isEmpty else { return [] }
        return servers.compactMap { server in
            guard server?.dialect == .couchDB, let identity = server?.identity else { return nil }
            return ReplicationID.ofCouchDB(server: identity, from: source.identity, to: target.identity)
        }
    }
}
