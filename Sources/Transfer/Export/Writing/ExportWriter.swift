internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

/// Writes documents as they come from the gateway, and keeps the journal. On a thread of its own: writing and syncing
/// block.
///
/// What the journal tells of is on the disk before the journal is. So a run that is killed at any instant is gone on with
/// from its last save point, and what stands behind that is cut off.
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
    /// Documents of the batch that is being written.
    var buffer: [UInt8] = []
    /// What comes next, once attachments are there.
    var waiting = WaitingDocuments()
    /// What feeds have brought twice; nil where none is read.
    var seen: SeenDocuments?
    /// Documents that were read one by one.
    let documentsRead = Arrivals()
    /// With `--revisions`: how many `_bulk_get` has brought.
    var revisionsRead = 0
    /// Whether the position says what is written: not in the middle of a stretch.
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

    /// Writes a stretch of the documents, and goes on behind it.
    ///
    /// - Throws: ``TransferError``, `RunFailure` if too much has gone wrong, `CancellationError` between two documents.
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
            case .malformed(let fault):
                tally.noteUnreadable(
                    document.id, document.revision, "it is not JSON: \(fault), at byte \(fault.offset) of its row")
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

    /// Writes a document if it is wanted, or makes it wait for attachments, a few documents together.
    ///
    /// - Returns: Whether all documents so far are written after what took more than a moment, so that it may be time to
    ///   save.
    func take(
        _ document: JSONValue, isTombstone: Bool = false, attempt: Int = 1, id: () -> DocumentID,
        revision: () -> RevisionID?
    ) async throws -> Bool {
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

    /// Writes a document behind all that came before it.
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

    /// Before documents are written that the position does not tell of yet.
    func beginStretch() { isBetweenDocuments = false }

    /// Behind all that was written: from time to time that is worth saving.
    func passed(_ position: ExportJournal.Position) throws {
        journal.position = position
        isBetweenDocuments = true
        try flush()
        if let limit = settings.errorLimit {
            let failures = report.failures
            guard !limit.isExceeded(by: failures) else { throw RunFailure(limit, failures) }
        }
        if savedAt.duration(to: .now) >= settings.saveInterval { try save() }
    }

    /// Makes what was written so far last. Does nothing in the middle of a stretch that broke off: what was saved before
    /// counts.
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
