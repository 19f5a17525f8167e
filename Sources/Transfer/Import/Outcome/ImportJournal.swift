internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Takes in what became of batches, in their order, and remembers how far the import is. On a thread of its own: writing
/// and syncing block.
///
/// Rejected documents are on the disk before the progress tells of them; a run that is killed at any instant is gone on
/// with from the last save, and what the files hold behind that is cut off. What is saved is never within a document of
/// the input: of what a mapping makes of it, some would be counted and rejected twice.
actor ImportJournal {
    private let executor = BlockingExecutor("changebot.import")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let settings: ImportSettings
    private let path: String?
    private let rejects: RejectFiles?
    private let report: ImportReport
    private let logger: Logger
    private(set) var progress: ImportProgress
    /// Where the next run may begin.
    private var resumable: ImportProgress
    private var savedAt = ContinuousClock.now
    /// Finished batches that wait for one before them.
    private var waiting: [Int: SettledBatch] = [:]
    private var next = 0
    private var messages = RepeatedMessages(last: "further rejected documents are not logged individually")

    /// - Parameter path: Where the progress is kept; nil: nowhere.
    init(
        _ progress: ImportProgress, at path: String?, rejects: sending RejectFiles?, settings: ImportSettings,
        report: ImportReport, logger: Logger
    ) throws(TransferError) {
        self.progress = progress
        resumable = progress
        self.path = path
        self.rejects = rejects
        self.settings = settings
        self.report = report
        self.logger = logger
        // Before anything is written: whoever goes on must know that something may have been.
        if let path { try WholeFile.write(progress.json, to: path) }
        report.take(progress)
    }

    /// - Returns: How many batches of this pass have been taken in, each with all before it.
    /// - Throws: ``TransferError``, `RunFailure` if too much was rejected.
    func settle(_ batch: SettledBatch) throws -> Int {
        waiting[batch.number] = batch
        while let batch = waiting.removeValue(forKey: next) {
            next += 1
            try take(batch)
        }
        if savedAt.duration(to: .now) >= settings.saveInterval { try save() }
        try check(isFinal: false)
        return next
    }

    private func take(_ batch: SettledBatch) throws {
        for (index, (entry, outcome)) in zip(batch.entries, batch.results.outcomes).enumerated() {
            progress.counts.add(outcome, isDeletion: entry.isDeletion)
            if let preview = settings.preview {
                try preview(outcome.preview(of: entry, document: batch.results.documents[index]))
            }
            if case .rejected(let reason) = outcome { try reject(entry, reason) }
        }
        progress.items = batch.end
        progress.input += batch.counted
        if batch.isWhole { reachResumable() }
        report.take(progress)
    }

    private func reachResumable() {
        if let rejects { progress.rejects = rejects.reached }
        resumable = progress
    }

    private func reject(_ entry: ImportEntry, _ reason: String) throws(TransferError) {
        try rejects?.write(entry, reason)
        guard settings.preview == nil else { return }
        messages.log(
            "rejected", .warning, to: logger,
            [
                "file": "\(settings.path)", "line": "\(entry.origin.line)", "id": "\(entry.id?.text ?? "")",
                "reason": "\(reason)",
            ])
    }

    /// - Throws: `RunFailure` if too much was rejected.
    func check(isFinal: Bool) throws {
        let failures = report.failures
        guard let limit = settings.errorLimit, limit.isExceeded(by: failures, isFinal: isFinal) else { return }
        throw RunFailure(limit, failures)
    }

    /// The next pass begins; batches are counted anew.
    func begin(pass: Int) throws(TransferError) {
        if progress.pass != pass {
            progress.pass = pass
            progress.items = 0
        }
        reachResumable()
        next = 0
        waiting = [:]
        try save()
    }

    func save() throws(TransferError) {
        savedAt = .now
        try rejects?.save()
        if let path { try WholeFile.write(resumable.json, to: path) }
    }

    /// The input can't be read to its end, and all that came of it has been settled. If that was nothing, nobody needs to
    /// go on.
    func end() throws(TransferError) {
        guard progress.pass == 0, progress.items == 0 else { return }
        try rejects?.save()
        if let path { WholeFile.remove(path) }
    }

    /// Nobody needs to go on with this import any more.
    func complete() throws(TransferError) {
        try rejects?.complete()
        if let path { WholeFile.remove(path) }
    }
}

extension ImportReport {
    fileprivate func take(_ progress: ImportProgress) {
        let accepted = progress.counts.inserted + progress.counts.changed
        update { state in
            state.counts = progress.counts
            state.counters.changes = progress.input.documents
            state.counters.matched = progress.input.matched
            state.counters.rules = progress.input.rules
            if isDryRun {
                (state.counters.shown, state.counters.shownDeletions) = (accepted, progress.counts.deleted)
            } else {
                (state.counters.written, state.counters.deleted) = (accepted, progress.counts.deleted)
            }
            state.counters.unchanged = progress.counts.unchanged
            state.counters.rejected = progress.counts.rejected
        }
    }
}
