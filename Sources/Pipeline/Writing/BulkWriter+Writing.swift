internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Rules

// The write of the changed documents, and what becomes of their candidates: finished, decided again or postponed.
extension BulkWriter {
    /// Writes documents, and settles their candidates as the answers arrive.
    ///
    /// - Returns: The candidates to decide again, after their documents have been read again.
    func write(_ writes: [Planner.Write], _ sender: inout BulkSender) async throws -> [Candidate] {
        var again: [Candidate] = []
        for request in limits.requests(writes.map { $0.document }) {
            try await sender.send(request) { answered, outcomes in
                CrashPoint.written.pass()
                var settled = Settlement()
                var written: [(Planner.Write, RevisionID)] = []
                for (index, outcome) in zip(answered, outcomes) {
                    switch settled.record(outcome, of: writes[index].candidate, attemptLimit: limits.attempts) {
                    case .settled:
                        if case .written(let revision) = outcome { written.append((writes[index], revision)) }
                    case .decideAgain(var candidate):
                        // A tombstone that the gateway left undecided is written again unchanged.
                        if outcome == .conflict || !candidate.isDeleted { candidate.dropContent() }
                        again.append(candidate)
                    }
                }
                noteWritten(written)
                await shared.busy.noteWrites(settled.writtenDocuments.map { DocumentPlace(keyspace: nil, id: $0) })
                await decideAgain(settled.caused.map(\.id))
                try await finish(settled)
            }
        }
        return try await postponingContested(again)
    }

    /// Tells the observer and the log.
    private func noteWritten(_ written: [(write: Planner.Write, revision: RevisionID)]) {
        if let observer = settings.observer, !written.isEmpty {
            observer.note(
                .wrote(
                    written.suffix(observer.wantedWrites).map { write, revision in
                        shown(write, revision, withContent: observer.wantsDocuments)
                    }))
        }
        guard logger.logLevel <= .debug else { return }
        for (write, revision) in written {
            let candidate = write.candidate
            logger.debug(
                candidate.isDeletion ? "deleted a document" : "wrote a document",
                metadata: [
                    LogKey.id: "\(candidate.id)", LogKey.revision: "\(revision)",
                    LogKey.rules: .array(candidate.rules.map { "\($0)" }),
                ])
        }
    }

    private func shown(_ write: Planner.Write, _ revision: RevisionID, withContent: Bool) -> WrittenDocument {
        let candidate = write.candidate
        var written = WrittenDocument(
            id: candidate.id, revision: revision, rules: candidate.rules, isDeletion: candidate.isDeletion)
        if withContent {
            written.before = write.before
            written.after = candidate.isDeletion ? nil : try? JSONText(Array(write.document.segments.joined()))
        }
        return written
    }

    // MARK: - Finishing

    /// Records what must be remembered, then finishes the candidates: this order is what makes a crash harmless.
    ///
    /// - Throws: `RunError` if there are more dead letters than the run's limit allows. Exactly one more than that
    ///   is saved; documents behind it are not settled.
    func finish(_ settled: Settlement) async throws {
        var settled = settled
        let admitted = await progress.admit(settled.deadLettered.count, settings.errorLimit)
        settled.keepDeadLetters(admitted)
        shared.deadLetterLog.report(settled.deadLetters)
        settings.observe(settled.deadLetters)
        let record = try await record(of: settled)
        note(record, try await store(record), settled)
        CrashPoint.recorded.pass()
        let finished = settled.finished
        await progress.count { [settled] in settled.count(in: &$0) }
        await progress.finish(finished.flatMap(\.tickets))
        for candidate in finished { candidate.tell(.finished) }
        let ofTimers = finished.filter(\.isOfTimer)
        shared.timers?.release(ofTimers)
        if !ofTimers.isEmpty { settings.observer?.note(.timersFired(ofTimers.count)) }
        CrashPoint.finished.pass()
        if let observer = settings.observer, !finished.isEmpty {
            let now = ContinuousClock.now
            observer.note(.settled(finished.map { $0.arrivedAt.duration(to: now) }))
        }
        await shared.budget.giveBack(bytes: finished.reduce(0) { $0 + $1.cost }, documents: finished.count)
        await queue.release(finished)
        shared.counts?.noteSettled(finished)
        try await progress.check(settings.errorLimit)
    }

    // MARK: - What is recorded

    /// A pass has a state of its own, but the timers are the run's.
    private func store(_ record: Record) async throws -> StoredRecord {
        guard let timers = shared.timers, timers.ledger !== ledger else { return try await ledger.store(record) }
        try await timers.ledger.store(Record(times: record.times))
        var own = record
        own.times = TimeChanges()
        return try await ledger.store(own)
    }

    private func record(of settled: Settlement) async throws -> Record {
        Record(
            resolved: resolved(settled.decided).map(resolvedDocument), deadLetters: settled.deadLetters,
            retried: settled.settledDeadLetters, times: timeChanges(of: settled),
            caused: settled.caused + settled.kept, ownWrites: settled.ownWrites,
            survivors: settled.decided.map(\.id).filter(shared.interruptions.isSuspect),
            counts: try await shared.counts?.changes(of: settled))
    }

    /// A document that became a dead letter does not wait for times that are past: its next decision finds them again.
    private func timeChanges(of settled: Settlement) -> TimeChanges {
        guard let timers = shared.timers else { return TimeChanges() }
        var changes = timers.changes(settled.decided, isWhole: !settings.isPass && !shared.ruleSet.isPartial)
        guard !settings.isPass else { return changes }
        changes.failed = settled.deadLettered.map(\.candidate).filter { !$0.countsOnly }.map(\.id)
            .filter { timers.mayContain($0) }
        changes.now = settings.now()
        return changes
    }

    /// A completed decision makes the document's dead letters obsolete, except those of rules that failed again.
    private func resolved(_ decided: [Candidate]) -> [Candidate] {
        guard !shared.deadLettered.isEmpty, settings.preview == nil else { return [] }
        return decided.filter { $0.highestDeadLetterNumber > 0 && shared.deadLettered.mayContain($0.id) }
    }

    /// If only some rules or documents were selected, only the dead letters of the rules that fired are obsolete.
    private func resolvedDocument(_ candidate: Candidate) -> Ledger.ResolvedDocument {
        Ledger.ResolvedDocument(
            id: candidate.id, rules: shared.ruleSet.isPartial ? Set(candidate.rules) : nil,
            failedRules: Set(candidate.skippedRules.map(\.rule)),
            highestDeadLetterNumber: candidate.highestDeadLetterNumber)
    }

    /// Tells those who know parts of the state.
    private func note(_ record: Record, _ stored: StoredRecord, _ settled: Settlement) {
        // Those of totals may be left.
        if shared.counts == nil, !shared.ruleSet.isPartial {
            for candidate in resolved(settled.decided)
            where candidate.skippedRules.isEmpty
                && candidate.highestDeadLetterNumber >= shared.deadLettered.newest
            {
                shared.deadLettered.remove(candidate.id)
            }
        }
        shared.deadLettered.insert(record.deadLetters, numbers: stored.deadLetterNumbers)
        shared.timers?.noteRecorded(record.times)
        if stored.hasChangedTotal { shared.counts?.noteChange() }
        for (id, count) in stored.dropped {
            logger.info(
                "removed the dead letters of a document: it is processed now",
                metadata: [LogKey.id: "\(id)", LogKey.deadLetters: .stringConvertible(count)])
        }
    }

    // MARK: - Postponing

    /// Returns candidates to be read and decided again after a conflict. Those with too many conflicts in a row are
    /// postponed.
    private func postponingContested(_ candidates: [Candidate]) async throws -> [Candidate] {
        var contested: [(ContinuousClock.Instant, Candidate)] = []
        var rest: [Candidate] = []
        for candidate in candidates {
            if candidate.isContested {
                contested.append((.now + AttemptLimits.contestedWait, candidate))
            } else {
                rest.append(candidate)
            }
        }
        try await postpone(contested)
        return rest
    }

    /// Postpones candidates without their documents: the latest content is decided later.
    ///
    /// - Throws: ``StateError``.
    func postpone(_ candidates: [(due: ContinuousClock.Instant, candidate: Candidate)]) async throws(StateError) {
        guard !candidates.isEmpty else { return }
        let ofLog = candidates.map(\.candidate).filter { $0.isOfLog && $0.contributed != nil }
        if !ofLog.isEmpty, let changes = try await shared.counts?.changes(ofParked: ofLog),
            try await ledger.store(Record(counts: changes)).hasChangedTotal
        {
            shared.counts?.noteChange()
        }
        var freed = 0
        let waiting = candidates.map { due, candidate in
            var candidate = candidate
            candidate.hasWaited = true
            freed += candidate.releaseBudget()
            if !candidate.isDeleted { candidate.dropContent() }
            return (due: due, candidate: candidate)
        }
        await shared.budget.giveBack(bytes: freed, documents: waiting.count { $0.candidate.isOfLog })
        await queue.postpone(waiting)
        shared.timers?.notePostponed(waiting.map(\.candidate).filter(\.isOfTimer))
    }
}

/// Candidates that were settled together, and what to record about them.
struct Settlement {
    /// Their decision was completed: written, or nothing to do.
    private(set) var decided: [Candidate] = []
    /// Settled without a decision: an own revision, or beyond the limit of changes.
    var passedOver: [Candidate] = []
    /// Each with its dead letter.
    private(set) var deadLettered: [(candidate: Candidate, deadLetter: DeadLetter)] = []
    /// The changed documents themselves that were written.
    private(set) var writtenDocuments: [DocumentID] = []
    /// What the ledger is to remember of these writes, and of those to other documents.
    private(set) var ownWrites: [OwnWrite] = []
    /// Revisions with the answers of receivers in them, and the rules that led to them.
    private(set) var caused: [Ledger.CausedRevision] = []
    /// Own revisions of documents to which rules led.
    private(set) var kept: [Ledger.CausedRevision] = []
    /// Matching documents that were already as the rules want them.
    var unchanged = 0
    /// Writes that a dry run has shown, including ``shownDeletions``.
    var shown = 0
    var shownDeletions = 0
    private var deleted = 0
    private var conflicts = 0
    private var rejected = 0

    /// All settled candidates.
    var finished: [Candidate] { decided + passedOver + deadLettered.map(\.candidate) }

    /// Dead letters in the order in which they are saved.
    var deadLetters: [DeadLetter] { deadLettered.map(\.deadLetter) + decided.flatMap(\.deadLettersOfSkippedRules) }

    /// The numbers of dead letters of retried documents that are not dead-lettered again.
    var settledDeadLetters: [Int] {
        let replaced = Set(deadLettered.flatMap(\.deadLetter.replaced))
        return (decided.flatMap(\.deadLetters) + passedOver.flatMap(\.deadLetters)).filter { !replaced.contains($0) }
    }

    /// Dead letters of skipped rules that were counted before the write but are not saved.
    private var countedButUnsavedDeadLetters: Int {
        decided.reduce(0) { $0 + max(0, $1.countedSkips - $1.skippedRules.count) }
            + (passedOver + deadLettered.map(\.candidate)).reduce(0) { $0 + $1.countedSkips }
    }

    var isEmpty: Bool { decided.isEmpty && passedOver.isEmpty && deadLettered.isEmpty }

    /// - Parameter isWrite: Whether the decision led to a write of other documents.
    mutating func end(_ candidate: Candidate, isWrite: Bool) {
        decided.append(candidate)
        if isWrite, let content = candidate.content {
            ownWrites.append(OwnWrite(id: candidate.id, revision: nil, content: content))
        }
    }

    mutating func deadLetter(_ candidate: Candidate, _ deadLetter: DeadLetter) {
        deadLettered.append((candidate, deadLetter))
    }

    /// Removes all but the first `count` dead-lettered candidates; the others are not settled.
    mutating func keepDeadLetters(_ count: Int) { deadLettered.removeLast(max(0, deadLettered.count - count)) }

    /// What to do with a candidate after the answer to its write.
    enum AfterWrite {
        case settled
        /// There is or may be another revision, or the gateway could not say: read the document and decide again.
        case decideAgain(Candidate)
    }

    /// Records the outcome of a write.
    ///
    /// A conflict is no reason to give up: a document that others write often is decided with its current content. But
    /// after `attemptLimit` conflicts without another revision it is dead-lettered. The same goes for as many writes on
    /// which the gateway failed, however many conflicts came between them.
    mutating func record(_ outcome: BulkOutcome, of candidate: Candidate, attemptLimit: Int) -> AfterWrite {
        var candidate = candidate
        candidate.note(outcome)
        switch outcome {
        case .written(let revision):
            candidate.revision = revision
            decided.append(candidate)
            writtenDocuments.append(candidate.id)
            // With a receiver's answer in it, the revision is decided like any other.
            let ownRevision = candidate.cause == nil ? revision : nil
            ownWrites.append(OwnWrite(id: candidate.id, revision: ownRevision, content: candidate.content))
            if let cause = candidate.cause {
                caused.append(Ledger.CausedRevision(id: candidate.id, revision: revision, chain: cause))
            } else if let chain = candidate.kept {
                kept.append(Ledger.CausedRevision(id: candidate.id, revision: revision, chain: chain))
            }
            if candidate.isDeletion { deleted += 1 }
        case .failed where candidate.failures < attemptLimit: return .decideAgain(candidate)
        case .failed, .rejected:
            rejected += 1
            deadLetter(candidate, candidate.deadLetter(reason: outcome.explanation))
        case .undecided: return .decideAgain(candidate)
        case .conflict, .unmentioned:
            if outcome == .conflict { conflicts += 1 }
            candidate.unexplainedConflicts += 1
            guard candidate.unexplainedConflicts >= attemptLimit else { return .decideAgain(candidate) }
            deadLetter(
                candidate,
                candidate.deadLetter(
                    reason:
                        "not accepted in \(candidate.attempts.counted("attempt")); the last one: \(outcome.explanation)"
                ))
        }
        return .settled
    }

    func count(in counters: inout RunCounters) {
        counters.written += writtenDocuments.count
        counters.deleted += deleted
        counters.unchanged += unchanged
        counters.shown += shown
        counters.shownDeletions += shownDeletions
        counters.conflicts += conflicts
        counters.rejected += rejected
        counters.deadLetters -= countedButUnsavedDeadLetters
    }
}
