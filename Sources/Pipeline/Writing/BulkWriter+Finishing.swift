internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import Rules

extension BulkWriter {
    /// Records what must be remembered, then finishes the candidates: this order is what makes a crash harmless.
    ///
    /// - Throws: ``RunError`` if there are more dead letters than the run's limit allows. Exactly one more than that
    ///   is saved; documents behind it are not settled.
    func finish(_ settled: Settlement) async throws {
        var settled = settled
        let admitted = await progress.admit(settled.deadLettered.count, settings.errorLimit)
        settled.keepDeadLetters(admitted)
        let deadLetters = settled.deadLetters
        shared.deadLetterLog.report(deadLetters)
        settings.observe(deadLetters)
        try await dropDeadLetters(ofResolved: settled.decided)
        let filed = try await ledger.keep(deadLetters)
        shared.deadLettered.insert(deadLetters, numbers: filed)
        CrashPoint.deadLettersSaved.pass()
        let effects = settings.effectLimits == nil ? [] : settled.effects
        try await ledger.recordOwnRevisions(settled.ownRevisions, effects: effects)
        try await forgetInterruptions(settled.decided)
        CrashPoint.ownRevisionsSaved.pass()
        // A rule that fails again keeps its dead letter and the number.
        try await ledger.drop(settled.settledDeadLetters.filter { !filed.contains($0) })
        let finished = settled.finished
        await progress.count { [settled] in settled.count(in: &$0) }
        await progress.finish(finished.flatMap(\.tickets))
        CrashPoint.finished.pass()
        if let observer = settings.observer, !finished.isEmpty {
            let now = ContinuousClock.now
            observer.note(.settled(finished.map { $0.arrivedAt.duration(to: now) }))
        }
        await shared.budget.giveBack(bytes: finished.reduce(0) { $0 + $1.cost }, documents: finished.count)
        await queue.release(finished)
        try await progress.check(settings.errorLimit)
    }

    /// The process survived the decision about these documents: forgets its earlier deaths over them.
    private func forgetInterruptions(_ decided: [Candidate]) async throws {
        let survivors = decided.map(\.id).filter(shared.interruptions.isSuspect)
        if !survivors.isEmpty { try await ledger.forgetInterruptions(of: survivors) }
    }

    /// A completed decision makes the document's dead letters obsolete, except those of rules that failed again. If
    /// only some rules or documents were selected, only those of the rules that fired are obsolete.
    private func dropDeadLetters(ofResolved decided: [Candidate]) async throws {
        guard !shared.deadLettered.isEmpty, settings.preview == nil else { return }
        let resolved = decided.filter { shared.deadLettered.mayContain($0.id) }
        let isPartial = shared.ruleSet.isPartial
        let dropped = try await ledger.dropDeadLetters(
            of: resolved.map { candidate in
                Ledger.ResolvedDocument(
                    id: candidate.id, rules: isPartial ? Set(candidate.rules) : nil,
                    failedRules: Set(candidate.skippedRules.map(\.rule)), newestDeadLetter: candidate.newestDeadLetter)
            })
        for candidate in resolved
        where candidate.skippedRules.isEmpty && !isPartial && candidate.newestDeadLetter >= shared.deadLettered.newest {
            shared.deadLettered.remove(candidate.id)
        }
        for (id, count) in dropped {
            logger.info(
                "dropped the dead letters of a document: it is resolved",
                metadata: [LogKey.id: "\(id)", LogKey.deadLetters: .stringConvertible(count)])
        }
    }
}
