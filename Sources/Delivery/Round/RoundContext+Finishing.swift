internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules

// A round first records its results, and then notifies others. This order makes a crash harmless.
extension RoundContext {
    /// Records the results, then finishes the candidates.
    ///
    /// - Throws: `RunError` if there are more dead letters than the run's limit allows. Exactly one more than the limit
    ///   is saved; later documents are not settled. ``StateError``: nothing is recorded or finished.
    func finish(_ outcomes: CandidateOutcomes) async throws {
        guard !outcomes.isEmpty else { return try await progress.check(settings.errorLimit) }
        var outcomes = outcomes
        await targets.busy.noteWrites(outcomes.writtenDocuments.map { DocumentAddress(keyspace: nil, id: $0) })
        await decideAgain(outcomes.changedAgain)
        outcomes.keepDeadLetters(await progress.admit(outcomes.deadLettered.count, settings.errorLimit))
        let deadLetters = InjectedFault.vanishedDeadLetter.isActive ? [] : outcomes.deadLetters
        state.deadLetterLog.report(deadLetters)
        settings.observe(deadLetters)
        let record = try await record(of: outcomes, deadLetters)
        note(record, try await store(record), outcomes)
        CrashPoint.recorded.pass()
        let candidates = outcomes.candidates
        await progress.count { [outcomes] in outcomes.count(in: &$0) }
        await progress.finish(candidates.flatMap(\.acknowledgements.tickets))
        for candidate in candidates { candidate.acknowledgements.notify(.finished) }
        let timers = candidates.count(where: \.reason.isTimer)
        if timers > 0 { settings.observer?.note(.timersFired(timers)) }
        CrashPoint.finished.pass()
        if let observer = settings.observer, !candidates.isEmpty {
            let now = ContinuousClock.now
            observer.note(.settled(candidates.map { $0.acknowledgements.arrivedAt.duration(to: now) }))
        }
        await flow.release(candidates)
        try await progress.check(settings.errorLimit)
    }

    /// A run with an end does not wait until the feed returns documents into which it wrote receivers' answers, or
    /// whose conflicts it resolved. It decides them itself.
    ///
    /// Call this before the first candidates of these documents are finished: otherwise the run could end in between.
    private func decideAgain(_ written: [DocumentID]) async {
        guard mode.endsOnceSettled else { return }
        await flow.submit(written.map { Candidate(unread: $0) })
    }

    /// Postpones candidates.
    ///
    /// - Throws: ``StateError``.
    func postpone(_ waiting: [Round.WaitingCandidate]) async throws(StateError) {
        guard !waiting.isEmpty else { return }
        // If a log keeps them, their contributions to totals need not wait.
        let ofLog = waiting.filter { $0.candidate.acknowledgements.isFromLog && $0.contributed != nil }
        if !ofLog.isEmpty, let changes = try await state.counts?.changes(ofWaiting: ofLog),
            try await state.ledger.store(Record(counts: changes)).hasChangedTotal
        {
            state.counts?.noteChange()
        }
        await flow.postpone(waiting.map { ($0.due, $0.candidate) })
    }

    // MARK: - The record

    private func record(of outcomes: CandidateOutcomes, _ deadLetters: [DeadLetter]) async throws -> Record {
        let times = timeChanges(of: outcomes)
        return Record(
            resolved: resolved(outcomes).map(resolvedDocument), deadLetters: deadLetters,
            retried: outcomes.settledDeadLetters, times: times,
            seen: state.lastSeen?.changes(outcomes.decided, keepsExisting: mode.onlyLearns) ?? SeenChanges(),
            caused: outcomes.caused,
            ownWrites: outcomes.ownWrites,
            survivedDocuments: outcomes.decided.map(\.candidate.id).filter(state.interruptions.isSuspect),
            traces: state.ledger.traces ? outcomes.traces(times) : [],
            counts: InjectedFault.uncountedDecision.isActive ? nil : try await state.counts?.changes(of: outcomes))
    }

    /// A pass has its own state, but uses the run's timers and last seen states.
    private func store(_ record: Record) async throws -> StoredRecord {
        var own = record
        if let timers = state.timers, timers.ledger !== state.ledger {
            try await timers.ledger.store(Record(times: record.times))
            own.times = TimeChanges()
        }
        if let lastSeen = state.lastSeen, lastSeen.ledger !== state.ledger {
            try await lastSeen.ledger.store(Record(seen: record.seen))
            own.seen = SeenChanges()
        }
        return try await state.ledger.store(own)
    }

    /// Drops due timers of dead-lettered documents: the next decision of the document finds them again.
    private func timeChanges(of outcomes: CandidateOutcomes) -> TimeChanges {
        guard let timers = state.timers else { return TimeChanges() }
        var changes = timers.changes(outcomes.decided, isWhole: mode.decidesChanges && !rules.set.isPartial)
        // Other rules of the bot may be waiting for these times.
        guard mode.decidesChanges, !rules.set.isPartial else { return changes }
        changes.failed = outcomes.deadLettered.map(\.ended.candidate).filter { !$0.reason.countsOnly }.map(\.id)
            .filter { timers.mayContain($0) }
        changes.now = settings.now()
        return changes
    }

    /// A completed decision makes the document's dead letters obsolete, except those of rules that failed again or are
    /// paused.
    private func resolved(_ outcomes: CandidateOutcomes) -> [CandidateOutcomes.Ended] {
        guard !state.deadLettered.isEmpty, !settings.isDryRun, !InjectedFault.keptDeadLetter.isActive else { return [] }
        return outcomes.decided.filter {
            $0.candidate.content.highestDeadLetterNumber > 0 && !$0.candidate.content.isLost
                && state.deadLettered.mayContain($0.candidate.id)
        }
    }

    /// If only some rules or documents were selected, only the dead letters of the fired rules are obsolete.
    private func resolvedDocument(_ ended: CandidateOutcomes.Ended) -> Ledger.ResolvedDocument {
        Ledger.ResolvedDocument(
            id: ended.candidate.id, rules: rules.set.isPartial ? Set(ended.result.rules) : nil,
            failedRules: rules.set.paused.union(ended.result.skippedRules.map(\.rule)),
            // The feed of a run gives this document to paused rules later; that of a retry does not.
            keepsUnnamed: !rules.set.paused.isEmpty && !mode.keepsCheckpoint,
            highestDeadLetterNumber: ended.candidate.content.highestDeadLetterNumber)
    }

    /// Updates the in-memory views of the state.
    private func note(_ record: Record, _ stored: StoredRecord, _ outcomes: CandidateOutcomes) {
        // Dead letters of totals may remain.
        if state.counts == nil, !rules.set.isPartial, rules.set.paused.isEmpty {
            for ended in resolved(outcomes)
            where ended.result.skippedRules.isEmpty
                && ended.candidate.content.highestDeadLetterNumber >= state.deadLettered.newest
            {
                state.deadLettered.remove(ended.candidate.id)
            }
        }
        state.deadLettered.insert(record.deadLetters, numbers: stored.deadLetterNumbers)
        state.timers?.noteRecorded(record.times)
        if stored.hasChangedTotal || record.counts?.undecided.isEmpty == false { state.counts?.noteChange() }
        for (id, count) in stored.dropped {
            logger.info(
                "removed the dead letters of a document: it has now been processed",
                metadata: [LogKey.id: "\(id)", LogKey.deadLetters: .stringConvertible(count)])
        }
    }
}
