internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Records the outcomes of batches in order and saves the progress. Runs on a thread of its own, because writing and
/// syncing block.
///
/// Rejected documents are on disk before the progress mentions them. If the run is killed, the next one resumes from
/// the last save and cuts off what the files have after it. A save is never in the middle of a document of the input:
/// otherwise some of what a mapping makes of it would be counted and rejected twice.
actor ImportJournal {
    private let executor = BlockingExecutor("changebot.import")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private let settings: ImportSettings
    private let path: String?
    private let rejects: RejectFiles?
    private let report: ImportReport
    private let logger: Logger
    private(set) var progress: ImportProgress
    /// The last state from which a run can resume.
    private var resumable: ImportProgress
    private var savedAt = ContinuousClock.now
    /// Finished batches that wait for an earlier one.
    private var waiting: [Int: SettledBatch] = [:]
    private var next = 0
    private var messages = RepeatedMessages(last: "further rejected documents are not logged individually")

    /// - Parameter path: The progress file; nil to save nothing.
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
        // Before anything is written, so that a resumed run knows that something may have been.
        if let path { try WholeFile.write(progress.json, to: path) }
        report.show(progress)
    }

    /// Begins a pass; batches are numbered from 0 again.
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

    /// - Returns: How many batches of this pass are recorded, without gaps.
    /// - Throws: ``TransferError``; `RunError` if too many documents were rejected.
    func record(_ settled: SettledBatch) throws -> Int {
        waiting[settled.batch.number] = settled
        while let settled = waiting.removeValue(forKey: next) {
            next += 1
            try recordNext(settled.batch, settled.results)
        }
        if savedAt.duration(to: .now) >= settings.saveInterval { try save() }
        try check(isFinal: false)
        return next
    }

    private func recordNext(_ batch: ImportBatch, _ results: ImportResults) throws {
        for (index, (entry, outcome)) in zip(batch.entries, results.outcomes).enumerated() {
            progress.counts.add(outcome, isDeletion: entry.isDeletion)
            if outcome.leavesDocument, !entry.isDeletion { progress.sample.note(entry.id) }
            if let preview = settings.preview {
                try preview(outcome.preview(of: entry, document: results.documents[index]))
            }
            if case .rejected(let reason) = outcome { try reject(entry, reason) }
        }
        progress.items = batch.end
        progress.input += batch.counted
        if batch.isWhole { reachResumable() }
        report.show(progress)
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
                LogKey.file: "\(settings.path)", "line": "\(entry.origin.line)", LogKey.id: "\(entry.id?.text ?? "")",
                LogKey.reason: "\(reason)",
            ])
    }

    /// - Throws: `RunError` if too many documents were rejected.
    func check(isFinal: Bool) throws {
        let failures = report.failures
        guard let limit = settings.errorLimit, limit.isExceeded(by: failures, isFinal: isFinal) else { return }
        throw RunError(limit, failures)
    }

    func save() throws(TransferError) {
        savedAt = .now
        try rejects?.save()
        if let path { try WholeFile.write(resumable.json, to: path) }
    }

    /// Call when the input could not be read to its end and everything from it is settled. Removes the progress file if
    /// nothing was read, because there is nothing to resume.
    func end() throws(TransferError) {
        guard progress.pass == 0, progress.items == 0 else { return }
        try rejects?.save()
        if let path { WholeFile.remove(path) }
    }

    /// Call at the end of a complete import: removes the progress file.
    func complete() throws(TransferError) {
        try rejects?.complete()
        if let path { WholeFile.remove(path) }
    }
}

extension ImportReport {
    fileprivate func show(_ progress: ImportProgress) {
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
