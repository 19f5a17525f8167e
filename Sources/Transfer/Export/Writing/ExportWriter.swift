internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Revisions

/// Writes documents as they arrive and keeps the journal. Runs on its own thread, because writing and syncing block.
///
/// Data is on disk before the journal mentions it. If the run is killed, the next one resumes from the last save point
/// and truncates what follows it.
actor ExportWriter {
    private let executor = BlockingExecutor("changebot.export")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let settings: ExportSettings
    private let files: ExportFiles
    private let report: ExportReport
    private let attachments: AttachmentExport?
    private let counter: ExportCounter
    private let lines: DocumentLines
    private let documents: DocumentExport
    private let revisions: RevisionsReader
    private let rewrite: ExportRewrite

    private var journal: ExportJournal
    /// Whether the position matches what was written: false in the middle of a batch.
    private var isBetweenDocuments = true
    private var savedAt = ContinuousClock.now

    /// - Parameter attachments: Nil if documents keep their stubs.
    init(
        settings: ExportSettings, files: sending ExportFiles, beginning: Exporter.StartPoint, gateway: Gateway,
        contact: GatewayContact, attachments: AttachmentExport?, report: ExportReport, logger: Logger
    ) {
        self.settings = settings
        self.files = files
        self.report = report
        self.attachments = attachments
        journal = beginning.journal
        let counts = journal.manifest.counts
        counter = ExportCounter(counts, report: report, logger: logger)
        lines = DocumentLines(files.output, isArray: settings.format.isArray, count: counts.lines, counter: counter)
        documents = DocumentExport(
            to: lines,
            ExportSelection(settings, seen: beginning.seen, canWithdraw: files.canResume || files.isSpooled),
            counter: counter, gateway: gateway, contact: contact, attachments: attachments,
            exportsCurrentState: !settings.includesRevisions, sample: journal.manifest.facts.sample)
        revisions = RevisionsReader(gateway: gateway, contact: contact)
        rewrite = ExportRewrite(settings: settings, files: files, attachments: attachments, logger: logger)
    }

    var position: ExportJournal.Position { journal.position }
    var manifest: ExportManifest { journal.manifest }
    /// Sample of the documents that this run, and the runs that it resumes, have read.
    var sample: DatabaseSample { documents.sample }

    /// Switches to the changes feed. Call only before anything was written.
    func switchToFeed() {
        journal.manifest.source = .feed
        documents.beginFeed()
    }

    // MARK: - Batches

    // Each of these moves the position past its batch. They throw TransferError, RunError if `--max-errors` is
    // exceeded, and CancellationError between two documents.

    /// Writes a page of `_all_docs`.
    func write(page: DocumentBatch) async throws {
        beginUnsavedRows()
        var bytes = 0
        if documents.keepsExpiry {
            try await documents.readExpiries(
                of: page.filter { $0.kind == .document }.map { ($0.id, $0.byteCount) })
        }
        for document in page {
            bytes += document.byteCount
            guard documents.export(document) else { continue }
            try await documents.writeWaiting()
            try reach(.document(document.id))
            beginUnsavedRows()
        }
        noteArrival(of: page.count, bytes: bytes)
        try await documents.writeWaiting()
        if let last = page.last { try reach(.document(last.id)) }
    }

    /// Writes the changed documents of a batch of the feed.
    ///
    /// - Parameter isSecondReading: Whether these changes were made while the feed was read the first time.
    func write(
        changes: ChangesBatch.SubSequence?, reached: SequenceID, isSecondReading: Bool
    ) async throws {
        beginUnsavedRows()
        if let changes {
            if documents.keepsExpiry {
                try await documents.readExpiries(
                    of: changes.filter { $0.kind == .document }.map { ($0.id, $0.document?.bytes.count ?? 0) })
            }
            for change in changes {
                guard try await documents.export(change) else { continue }
                try await documents.writeWaiting()
                guard let sequence = change.sequence else { continue }
                try reach(.sequence(sequence, isSecondReading: isSecondReading))
                beginUnsavedRows()
            }
        }
        try await documents.writeWaiting()
        noteArrival(of: changes?.count ?? 0, bytes: changes?.byteCount ?? 0)
        try reach(.sequence(reached, isSecondReading: isSecondReading))
    }

    /// Writes all leaf revisions of the changed documents of a batch, each with its history.
    ///
    /// - Parameter isSecondReading: As above.
    func write(
        leavesOf changes: ChangesBatch.SubSequence?, reached: SequenceID, isSecondReading: Bool
    ) async throws {
        beginUnsavedRows()
        var keys: [BulkGetKey] = []
        if let changes {
            for change in changes {
                keys += RevisionsReader.leaves(of: change)
                guard keys.count >= RevisionsReader.requestSize, let sequence = change.sequence else { continue }
                try await write(revisions: keys)
                keys = []
                try reach(.sequence(sequence, isSecondReading: isSecondReading))
                beginUnsavedRows()
            }
        }
        try await write(revisions: keys)
        noteArrival(of: changes?.count ?? 0, bytes: changes?.byteCount ?? 0)
        try reach(.sequence(reached, isSecondReading: isSecondReading))
    }

    private func write(revisions keys: [BulkGetKey]) async throws {
        if documents.keepsExpiry {
            try await documents.readExpiries(of: Array(Set(keys.map(\.id))).map { ($0, 0) })
        }
        try await revisions.read(keys) { answer in
            if case .revision(let text, _) = answer { noteArrival(of: 0, bytes: text.bytes.count) }
            if documents.export(answer) { try await documents.writeWaiting() }
            try lines.flushIfLarge()
        }
        try await documents.writeWaiting()
    }

    private func noteArrival(of rows: Int, bytes: Int) {
        report.count { counters in
            counters.changes += rows
            counters.traffic.bytesIn += bytes
        }
    }

    // MARK: - Saving

    /// Call before writing documents that the position does not cover yet.
    private func beginUnsavedRows() { isBetweenDocuments = false }

    /// Call when everything up to `position` is written. Saves at intervals.
    private func reach(_ position: ExportJournal.Position) throws {
        journal.position = position
        isBetweenDocuments = true
        try lines.flush()
        if let limit = settings.errorLimit {
            let failures = report.failures
            guard !limit.isExceeded(by: failures) else { throw RunError(limit, failures) }
        }
        if savedAt.duration(to: .now) >= settings.saveInterval { try save() }
    }

    /// Makes everything written so far durable. Does nothing in the middle of an unfinished batch; the previous save
    /// point stays valid.
    func save() throws {
        guard files.canResume, isBetweenDocuments else { return }
        try lines.flush()
        attachments?.unsynced.sync()
        updateManifest()
        journal.saved = try files.output.save()
        try FileOperations.write(journal.json, to: files.place.journal)
        savedAt = .now
    }

    private func updateManifest() {
        journal.manifest.counts = counter.counts
        journal.manifest.facts.sample = documents.sample
    }

    // MARK: - Finishing

    /// Gives the export its final form, its name and its manifest, once all documents are written.
    ///
    /// If it is cancelled or killed, a later run can resume from the journal.
    func finish() throws -> ExportManifest {
        let output = try makeFinalFile()
        updateManifest()
        let point = try output.finish()
        attachments?.unsynced.sync()
        journal.saved = point
        journal.position = .whole
        journal.replaced = files.existing?.manifest
        journal.manifest.byteCount = point.byteCount
        journal.manifest.sha256 = point.sha256
        journal.manifest.ended = Timestamp.now
        counter.note(outputBytes: point.byteCount)
        journal.manifest.encrypted = try files.encryptedFile()
        guard files.place.isNamed else { return journal.manifest }
        try FileOperations.write(journal.json, to: files.place.journal)
        try files.complete(journal, from: files.path(of: output))
        return journal.manifest
    }

    /// The file that documents were written to, if it can become the export; otherwise a second file made from it.
    private func makeFinalFile() throws -> ExportOutput {
        try lines.flush()
        let written = try WrittenDocuments(files, seen: documents.seen, reportsDeletions: settings.reportsDeletions)
        if rewrite.isNeeded(for: written) { return try rewrite.write(written, correcting: counter) }
        try lines.close()
        return files.output
    }
}
