internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Writes documents as they arrive and keeps the journal. Runs on a thread of its own, because writing and syncing
/// block.
///
/// Data is on disk before the journal mentions it. If the run is killed, the next one resumes from the last save point
/// and cuts off what follows it.
actor ExportWriter {
    private let executor = BlockingExecutor("changebot.export")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    let settings: ExportSettings
    let files: ExportFiles
    let report: ExportReport
    let logger: Logger
    let attachments: AttachmentExport?
    private let matcher: DocumentMatcher?

    var journal: ExportJournal
    var framing: DocumentFraming
    var tally: ExportTally
    private(set) var sample = DatabaseSample()
    /// Lines of the current batch that are not in the output yet.
    var buffer: [UInt8] = []
    /// Documents that wait for attachments.
    var waiting = WaitingDocuments()
    /// The ids the feed has returned; nil if the feed is not read.
    var seen: SeenDocuments?
    /// Counts documents that were read one by one.
    let documentsRead = Arrivals()
    /// Revisions that `_bulk_get` has returned; for `--revisions`.
    var revisionsRead = 0
    /// Whether the position matches what was written: false in the middle of a batch.
    private var isBetweenDocuments = true
    private var savedAt = ContinuousClock.now

    init(
        settings: ExportSettings, files: sending ExportFiles, journal: ExportJournal, seen: SeenDocuments?,
        report: ExportReport,
        attachments: AttachmentExport?, logger: Logger
    ) {
        self.settings = settings
        self.files = files
        self.journal = journal
        self.seen = seen
        self.report = report
        self.attachments = attachments
        self.logger = logger
        matcher = settings.filter.map { DocumentMatcher($0) }
        tally = ExportTally(journal.manifest.counts, report: report, logger: logger)
        framing = DocumentFraming(isArray: settings.format == .json, count: journal.manifest.counts.lines)
    }

    var position: ExportJournal.Position { journal.position }
    var manifest: ExportManifest { journal.manifest }

    // MARK: - Pages

    /// Writes a batch of documents and moves the position past it.
    ///
    /// - Throws: ``TransferError``; `RunError` if `--max-errors` is exceeded; `CancellationError` between two
    ///   documents.
    func take(_ documents: DocumentBatch) async throws {
        beginStretch()
        var bytes = 0
        for document in documents {
            bytes += document.byteCount
            switch document.kind {
            case .document:
                guard let body = document.document else { continue }
                guard try await take(body, id: { document.id }, revision: { document.revision }) else { continue }
                try passed(.document(document.id))
                beginStretch()
            case .malformed(let error):
                tally.noteUnreadable(
                    document.id, document.revision, "it is not JSON: \(error), at byte \(error.offset) of its row")
            case .unreadable(let reason): tally.noteUnreadable(document.id, document.revision, reason)
            case .deleted, .missing: continue
            }
        }
        report.count { [count = documents.count] counters in
            counters.changes += count
            counters.bytesIn += bytes
        }
        try await writeWaiting()
        if let last = documents.last { try passed(.document(last.id)) }
    }

    // MARK: - Single documents

    /// Writes a document if it matches the selector, or queues it if it needs attachments, which are fetched for a few
    /// documents together.
    ///
    /// - Returns: Whether the waiting documents were just written, so that it may be time to save.
    func take(
        _ document: JSONValue, isTombstone: Bool = false, attempt: Int = 1, id: () -> DocumentID,
        revision: () -> RevisionID?
    ) async throws -> Bool {
        if !isTombstone { sample.note(id()) }
        do {
            guard try isTombstone || matcher?.matches(document) != false else {
                withdraw(id)
                return false
            }
        } catch {
            tally.noteUnreadable(id(), revision(), "the selector can't be decided: \(error)")
            return false
        }
        let stubs = AttachmentStub.all(of: document)
        if stubs.isEmpty || attachments == nil {
            tally.note(stubs)
            append(document.bytes, isTombstone: isTombstone)
        } else {
            waiting.append(
                document,
                UnfetchedAttachments(
                    stubs: stubs, id: id(), revision: revision(), isTombstone: isTombstone, attempt: attempt))
        }
        guard waiting.isFull else { return false }
        try await writeWaiting()
        return true
    }

    /// Writes a document after all earlier ones, including those that wait.
    func append(_ document: ArraySlice<UInt8>, isTombstone: Bool = false) {
        guard waiting.isEmpty else {
            waiting.append(whole: document, isTombstone: isTombstone)
            return
        }
        framing.write(document, to: &buffer)
        tally.noteLine(isTombstone: isTombstone)
    }

    // MARK: - Saving

    func flush() throws {
        try files.output.write(buffer)
        buffer.removeAll(keepingCapacity: true)
        report.count { [count = files.output.byteCount] in $0.bytesOut = count }
    }

    /// Call before writing documents that the position does not cover yet.
    func beginStretch() { isBetweenDocuments = false }

    /// Call when everything up to `position` is written. Saves from time to time.
    func passed(_ position: ExportJournal.Position) throws {
        journal.position = position
        isBetweenDocuments = true
        try flush()
        if let limit = settings.errorLimit {
            let failures = report.failures
            guard !limit.isExceeded(by: failures) else { throw RunError(limit, failures) }
        }
        if savedAt.duration(to: .now) >= settings.saveInterval { try save() }
    }

    /// Makes everything written so far durable. Does nothing in the middle of an unfinished batch; the save point
    /// before it stays valid.
    func save() throws {
        guard files.canResume, isBetweenDocuments else { return }
        try flush()
        attachments?.unsynced.sync()
        journal.manifest.counts = tally.counts
        journal.saved = try files.output.save()
        try WholeFile.write(journal.json, to: files.place.journal)
        savedAt = .now
    }
}
