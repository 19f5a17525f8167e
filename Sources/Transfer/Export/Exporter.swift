internal import DocumentFlow
internal import Encodings
package import GatewayClient
package import Logging
internal import LosslessJSON
internal import Revisions
internal import ServiceLifecycle

/// `changebot export`: writes the documents of a keyspace to a file.
///
/// Full exports read pages of `_all_docs`, which returns each document once, in order of id, and has a definite end.
/// The changes feed is read for incremental exports, for channels, and for full exports by users who may not list
/// documents. Histories come from `_bulk_get`.
///
/// On graceful shutdown it stops reading, saves its progress and returns. If it is killed, a run with `--resume`
/// resumes from the last save point.
package struct Exporter: Service {
    /// Where a run starts.
    struct StartPoint {
        var journal: ExportJournal
        /// The ids that an interrupted run has written; nil unless the feed is read.
        var seen: SeenDocuments?
    }

    private let gateway: Gateway
    private let settings: ExportSettings
    private let place: ExportPlace
    private let report: ExportReport
    private let logger: Logger
    private let contact: GatewayContact

    /// - Parameters:
    ///   - place: Where the export goes.
    ///   - report: Updated during the run.
    package init(
        gateway: Gateway, settings: ExportSettings, place: ExportPlace, report: ExportReport, logger: Logger
    ) {
        self.gateway = gateway
        self.settings = settings
        self.place = place
        self.report = report
        self.logger = logger
        contact = GatewayContact(settings: settings.retries, logger: logger) {
            report.count { $0.traffic.retries += 1 }
        }
    }

    /// Returns when the export is complete, or after a graceful shutdown or cancellation; `report.state.isStopped`
    /// tells which.
    ///
    /// - Throws: `RunError`, ``TransferError``.
    package func run() async throws {
        let isGuarded = place.kind == .file && !settings.overwrites
        let existing = isGuarded ? try ExistingExport(place, isResuming: settings.isResuming) : nil
        let files = try ExportFiles(place, isSpooled: isSpooled, existing: existing)
        let leftovers = ExportLeftovers(place)
        defer { leftovers.removeUnsaved() }
        do {
            let (facts, total) = try await cancelWhenGracefulShutdown { try await readFacts() }
            guard let beginning = try await begin(files, facts) else { return }
            if case .folder(let folder) = settings.attachments { try AttachmentStore(folder).create() }
            if beginning.journal.manifest.source == .pages { report.update { $0.expected = total } }
            let attachments = makeAttachmentExport()
            defer { attachments?.removeSpools() }
            let writer = ExportWriter(
                settings: settings, files: files, beginning: beginning, gateway: gateway, contact: contact,
                attachments: attachments, report: report, logger: logger)
            try await write(with: writer, facts)
        } catch is CancellationError {
            report.update { $0.isStopped = true }
            logger.notice(
                place.kind != .file
                    ? "stopped before the end: the output is incomplete"
                    : leftovers.canBeResumed
                        ? "stopped before the end; continue with --resume" : "stopped before the end")
        }
    }

    /// Whether documents are collected first: the columns of a table depend on all of them, and a feed may return newer
    /// versions of some, whose older lines can't be removed from what is already encrypted.
    private var isSpooled: Bool {
        settings.format.isTable || place.encryption != nil && (settings.since != nil || settings.channels != nil)
    }

    /// Reads the facts about the server and the database once the gateway is reachable.
    private func readFacts() async throws -> (DatabaseFacts, documents: Int?) {
        let info = try await contact.connect(to: gateway)
        try gateway.check(channels: settings.channels)
        // Proxies may hide the server's root page, so nothing depends on it.
        let server = try? await gateway.serverInfo()
        return (DatabaseFacts(gateway, info, server), info.documentCount)
    }

    // MARK: - Where the run starts

    /// Decides where to start and prepares the files for it. If an interrupted run only lacked the final rename, does
    /// that and returns nil.
    private func begin(_ files: ExportFiles, _ facts: DatabaseFacts) async throws -> StartPoint? {
        let (since, sample) = try await startPoint(facts)
        var manifest = ExportManifest(
            facts: facts, options: ExportOptions(settings, since: since, isCompressed: place.isCompressed))
        manifest.facts.sample = sample
        manifest.tool = settings.tool
        manifest.started = Timestamp.now
        manifest.from = since
        // This gateway node may be behind the node that answered during that export.
        if let since, manifest.to?.hasPassed(since) == false { manifest.to = since }
        if settings.includesRevisions {
            manifest.source = .revisions
        } else if since != nil || settings.channels != nil {
            manifest.source = .feed
        }
        let found = settings.isResuming && files.canResume ? try ExportJournal.read(place.journal) : nil
        if let found { try await check(found, manifest) }
        try await files.existing?.check(for: manifest, isResuming: settings.isResuming, databaseCheck)
        if let found {
            if found.position == .whole, let name = try files.whole(found) {
                try files.complete(found, from: name)
                logger.info("the interrupted export was already complete; only renamed its file")
                report(found)
                return nil
            }
            if let beginning = try resume(files, found) { return beginning }
            logger.warning("the partial output is missing; starting over")
        }
        try files.existing?.restoreManifest()
        files.removeJournal()
        if files.canResume || files.isSpooled { _ = try files.output.truncate(to: ExportOutput.SavePoint()) }
        report.update { $0.lastSequence = manifest.to }
        let journal = ExportJournal(manifest: manifest)
        // The journal is written before the first byte, so that leftovers can be recognized after a kill.
        if place.isNamed { try FileOperations.write(journal.json, to: place.journal) }
        return StartPoint(
            journal: journal, seen: manifest.source == .feed ? SeenDocuments() : nil)
    }

    /// The sequence at which an incremental export begins, and sample documents of the database.
    ///
    /// - Throws: ``TransferError`` if the manifest can't be continued from; `RunError` if the database was reset.
    private func startPoint(_ facts: DatabaseFacts) async throws -> (since: SequenceID?, DatabaseSample) {
        switch settings.since {
        case nil: return (nil, DatabaseSample())
        case .sequence(let sequence):
            if let newest = facts.newest, newest.hasPassed(sequence) == false {
                throw RunError(
                    .databaseReset,
                    "--since \(sequence.queryValue): the newest sequence is \(newest.queryValue); was the database reset? Make a full export"
                )
            }
            return (sequence, DatabaseSample())
        case .manifest(let path):
            let earlier = try ExportManifest.read(path)
            guard let to = earlier.to else {
                throw TransferError(
                    .invalid, "\(path) does not name the last sequence of its export; make a full export")
            }
            if let mismatch = try await databaseCheck.confirm(earlier.facts.mismatch(with: facts)) {
                throw RunError(.databaseReset, "can't continue from \(path): \(mismatch); make a full export")
            }
            if let warning = earlier.facts.warning(about: facts) {
                logger.warning("\(warning)", metadata: [LogKey.manifest: "\(path)"])
            }
            return (to, DatabaseSample(after: earlier.facts.sample))
        }
    }

    /// - Throws: ``TransferError``: `.foreign`; `RunError` if the database was reset.
    private func check(_ found: ExportJournal, _ manifest: ExportManifest) async throws {
        guard found.manifest.options == manifest.options else {
            throw TransferError(
                .foreign,
                "\(place.journal) belongs to an export with other options; give the same options, or run without --resume"
            )
        }
        let (before, now) = (found.manifest.facts, manifest.facts)
        guard before.mayBeOnSameServer(as: now) else {
            throw TransferError(
                .foreign, "\(place.journal) belongs to \(before.gateway), not to \(now.gateway); run without --resume")
        }
        if let mismatch = try await databaseCheck.confirm(before.mismatch(with: now)) {
            throw RunError(
                .databaseReset, "the interrupted export can't be continued: \(mismatch); run without --resume")
        }
    }

    private func resume(_ files: ExportFiles, _ found: ExportJournal) throws -> StartPoint? {
        var journal = found
        var seen = found.manifest.source == .feed ? SeenDocuments() : nil
        var lines = DocumentSplitter(isCompressed: place.isCompressed && !files.isSpooled)
        let exists = try files.output.truncate(to: found.saved) { bytes in
            guard seen != nil else { return }
            try lines.read(bytes) { line in
                guard let document = try? JSONText(Array(line)).root, let id = document["_id"]?.string else { return }
                if GeneratedLine.isWithdrawal(document) || document["_deleted"]?.bool == true {
                    seen?.noteRepeated(DocumentID(id))
                } else {
                    seen?.note(DocumentID(id))
                }
            }
        }
        guard exists else { return nil }
        journal.manifest.resumed += 1
        report(journal)
        logger.info(
            "continuing an interrupted export", metadata: [LogKey.documents: "\(journal.manifest.counts.lines)"])
        return StartPoint(journal: journal, seen: seen)
    }

    private func report(_ journal: ExportJournal) {
        report.update { state in
            state.lastSequence = journal.manifest.to
            state.resumedAt = journal.manifest.counts.lines
            state.counters.deadLetters = journal.manifest.counts.unreadable + journal.manifest.counts.missingBodies
        }
    }

    private var databaseCheck: DatabaseCheck { DatabaseCheck(gateway: gateway, contact: contact) }

    // MARK: - Writing

    private func makeAttachmentExport() -> AttachmentExport? {
        let store: AttachmentStore?
        switch settings.attachments {
        case .none: return nil
        case .inline: store = nil
        case .folder(let folder): store = AttachmentStore(folder)
        }
        return AttachmentExport(
            fetcher: AttachmentFetcher(gateway: gateway, contact: contact), store: store, output: place.path,
            temporaryDirectory: place.temporaryDirectory)
    }

    private func write(with writer: ExportWriter, _ facts: DatabaseFacts) async throws {
        do {
            let manifest = try await cancelWhenGracefulShutdown {
                try await read(into: writer)
                // If the database was reset meanwhile, the manifest would pair documents of the old database with a
                // sequence of the new one.
                let sample = await writer.sample
                try await databaseCheck.checkAtEnd(sample) { facts.mismatch(afterwards: $0) }
                return try await writer.finish()
            }
            logger.info(
                "exported",
                metadata: [
                    LogKey.documents: "\(manifest.counts.lines)", LogKey.bytes: "\(manifest.byteCount)",
                    "format": "\(manifest.options.format.rawValue)",
                    LogKey.to: "\(manifest.to.map(\.description) ?? "")",
                ])
        } catch is CancellationError {
            try await writer.save()
            throw CancellationError()
        } catch let failure as RunError {
            // Keep what was read, even if the gateway fails.
            try? await writer.save()
            throw failure
        }
    }

    // MARK: - Reading

    /// Reads everything after the writer's position.
    private func read(into writer: ExportWriter) async throws {
        switch await writer.manifest.source {
        case .pages:
            if try await readPages(into: writer) { return }
            logger.notice(DocumentListReader.readsFeedInstead)
            await writer.switchToFeed()
            try await readFeed(into: writer)
        case .feed: try await readFeed(into: writer)
        case .revisions: try await readFeed(into: writer)
        }
    }

    /// Reads the next batch while the previous one is being written.
    ///
    /// - Returns: False if this user may not list the documents.
    private func readPages(into writer: ExportWriter) async throws -> Bool {
        var last: DocumentID?
        if case .document(let id) = await writer.position { last = id }
        return try await withThrowingTaskGroup(of: Void.self) { writing in
            var list = DocumentListReader(
                DocumentPages(of: gateway, after: last, pageSize: settings.pageSize), contact.makeRetrier())
            while let batch = try await list.next() {
                try await writing.next()
                writing.addTask { try await writer.write(page: batch) }
            }
            try await writing.next()
            return !list.isForbidden
        }
    }

    /// Reads up to the newest sequence known at the start. A full export then reads the later changes, because the feed
    /// omits a document that changes before its row is reached.
    private func readFeed(into writer: ExportWriter) async throws {
        var start = await writer.manifest.from ?? .start
        var isSecondReading = false
        if case .sequence(let sequence, let isSecond) = await writer.position {
            (start, isSecondReading) = (sequence, isSecond)
        }
        if !isSecondReading {
            let goal = await writer.manifest.to
            start = try await readFeed(from: start, to: goal, isSecondReading: false, into: writer)
        }
        guard settings.since == nil else { return }
        let info = try await contact.ask { try await gateway.databaseInfo() }
        _ = try await readFeed(from: start, to: info.newestSequence, isSecondReading: true, into: writer)
    }

    /// - Returns: The sequence reached.
    private func readFeed(
        from start: SequenceID, to goal: SequenceID?, isSecondReading: Bool, into writer: ExportWriter
    ) async throws -> SequenceID {
        var reader = FeedReader(
            gateway: gateway, end: .caughtUp(with: goal), retries: settings.retries, logger: logger,
            noteRetry: { [report] in report.count { $0.traffic.retries += 1 } })
        reader.selection.channels = settings.channels
        reader.logsCaughtUp = false
        reader.selection.listsLeaves = settings.includesRevisions
        reader.selection.includesDocuments = !settings.includesRevisions
        var end = start
        try await reader.read(from: start) { rows, reached in
            if settings.includesRevisions {
                try await writer.write(leavesOf: rows, reached: reached, isSecondReading: isSecondReading)
            } else {
                try await writer.write(changes: rows, reached: reached, isSecondReading: isSecondReading)
            }
            end = reached
        }
        return end
    }
}
