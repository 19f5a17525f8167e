internal import BotState
internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Outside
internal import Rules

// The decision about each candidate, and the reads of the state before and after it.
extension Round {
    /// For how many seconds a pass over all documents skips revisions that a pass has written: the longest time of a
    /// pass, or of the rest of a killed pass.
    private static let passSpan = 3600

    /// Decides the candidates. Candidates that can't be decided now leave the round.
    mutating func decide(_ planner: Planner) async throws {
        try await readTimes()
        try await findOwnRevisions()
        try await findOwnRevisionsOfRun()
        try await readLastSeen()
        skipOwnRevisions(planner)
        let largeEffects = try await beginLargeEffects()
        let beganAt = ContinuousClock.now
        let answers = await planner.plan(active)
        context.settings.observer?.note(.decided(beganAt.duration(to: .now), jq: planner.decider.jqTime))
        // A program that was stopped by the shutdown is not an error of the document.
        try Task.checkCancellation()
        for (index, answer) in zip(active.indices, answers) {
            if case .noProcess = answer { undecided += 1 }
            let isUnchanged = answer.leavesOwnRevision(active[index].known)
            // The plan has the contributions to totals, which are recorded although nothing else is done.
            if !isUnchanged || countsOwnRevisions { follow(active[index].take(answer), of: index) }
            if isUnchanged { follow(active[index].take(ownRevision), of: index) }
        }
        removeFinished()
        await holdEffects(largeEffects)
        try await noteContributions()
        endCounted()
        try await context.rules.downloads?.check()
        try context.rules.stored.check()
    }

    /// Waits for room for the effects of a candidate if they take much memory.
    private func beginLargeEffects() async throws -> LargeEffects? {
        guard active.contains(where: \.candidate.history.hasLargeEffects) else { return nil }
        let portion = await context.flow.budget.portion(of: .results, isSingle: true)
        return LargeEffects(portion: portion, reading: try await context.flow.budget.beginReading(portion))
    }

    private struct LargeEffects {
        let portion: MemoryBudget.Portion
        let reading: MemoryBudget.Reading
    }

    /// Takes room for what the rules have computed.
    private mutating func holdEffects(_ large: LargeEffects?) async {
        let bytes = active.reduce(0) { $0 + ($1.plan?.decision.effects.byteCount ?? 0) }
        if let large {
            await context.flow.budget.end(large.portion, bytes: bytes, of: large.reading)
            readings.append(large.reading)
        } else if bytes > 0 {
            readings.append(await context.flow.budget.hold(bytes: bytes))
        }
    }

    /// Finds revisions that this rule set wrote after a completed decision, also before a restart. Sets what is known
    /// about earlier writes.
    private mutating func findOwnRevisions() async throws {
        let now = Timestamp.secondsNow
        let earlier = try await context.state.ledger.earlierWrites(
            of: active.map { ($0.candidate.id, $0.candidate.content.revision ?? RevisionID("")) },
            since: context.mode.guards.map { now - $0.window } ?? .max)
        guard earlier.contains(where: { !$0.writes.isEmpty }) else { return }
        // A later pass decides revisions of earlier passes again, because time has passed.
        let times: ClosedRange<Int>
        switch context.mode.scope {
        case .changes: times = 0...Int.max
        case .documents(let began): times = min(max(began ?? 0, now - Self.passSpan), now)...now
        }
        for (index, earlierWrites) in zip(active.indices, earlier) {
            let candidate = active[index].candidate
            active[index].known.earlierWrites = earlierWrites
            active[index].known.isOwnRevision =
                !candidate.reason.isRetry && !hasDueTimer(active[index])
                && (candidate.content.conflict == nil || !InjectedFault.foreignLeaf.isActive)
                && earlierWrites.include(candidate.content.revision ?? RevisionID(""), in: times)
                && !InjectedFault.foreignOwnWrite.isActive
        }
    }

    /// Whether one of its timers is still due: a change that was decided meanwhile may have moved or cancelled them.
    private func hasDueTimer(_ progress: CandidateProgress) -> Bool {
        guard progress.candidate.reason.isTimer else { return false }
        if InjectedFault.cancelledTimer.isActive { return true }
        if InjectedFault.ignoredTimer.isActive { return false }
        let now = context.settings.now()
        return progress.known.earlierTimes?.contains { !$0.hasFired && $0.due <= now } ?? false
    }

    /// Finds revisions that the run wrote when the rules of this pass took part in its decisions.
    private mutating func findOwnRevisionsOfRun() async throws {
        guard let run = context.state.run, let last = run.lastWrite else { return }
        let wrote = try await run.ledger.wrote(
            active.map { ($0.candidate.id, $0.candidate.content.revision ?? RevisionID("")) }, upToWrite: last)
        for (index, wrote) in zip(active.indices, wrote) where wrote {
            // There may be another leaf by now.
            if active[index].candidate.content.conflict == nil { active[index].known.isOwnRevision = true }
        }
    }

    /// Skips own revisions, unless a rule may see another state than it last saw.
    private mutating func skipOwnRevisions(_ planner: Planner) {
        for index in active.indices where active[index].known.isOwnRevision {
            let seen = planner.compare(active[index])
            if case .different = seen { continue }
            let reason = active[index].candidate.reason
            // There may be another leaf by now: only a rule that resolves the conflict applies.
            if active[index].candidate.content.conflict != nil {
                active[index].known.onlyResolves = true
                continue
            }
            active[index].known.isOwnRevision = false
            if case .renamed = seen, !reason.isFromCount, reason.recount == nil {
                active[index].known.onlyLearns = true
            } else {
                follow(active[index].take(ownRevision), of: index)
            }
        }
        removeFinished()
    }

    private var ownRevision: CandidateProgress.DecisionResult { .ownRevision(isCounted: countsOwnRevisions) }

    private var countsOwnRevisions: Bool { context.state.counts != nil && !InjectedFault.uncountedOwnWrite.isActive }

    private mutating func readTimes() async throws {
        guard let timers = context.state.timers, context.mode.decidesChanges else { return }
        let asked = active.indices.filter { timers.mayContain(active[$0].candidate.id) }
        guard !asked.isEmpty else { return }
        let times = try await timers.ledger.times(of: asked.map { active[$0].candidate.id })
        for (index, times) in zip(asked, times) { active[index].known.earlierTimes = times }
    }

    private mutating func readLastSeen() async throws {
        guard let lastSeen = context.state.lastSeen else { return }
        let asked = active.indices.filter { !active[$0].candidate.reason.countsOnly }
        let found = try await lastSeen.lastSeen(of: asked.map { active[$0].candidate.id })
        for (index, seen) in zip(asked, found) { active[index].known.lastSeen = seen }
    }

    // MARK: - Counts

    /// Notes each candidate's contributions to totals, and refuses plans whose rule chain would become too long. Reads
    /// from the state, once per batch, which rules led to the documents with contributions.
    private mutating func noteContributions() async throws {
        guard let counts = context.state.counts, !counts.requestsRecounts else { return }
        let adding = active.filter { progress in
            progress.plan.map { $0.decision.resolution == nil && !$0.decision.contributions.isEmpty } ?? false
        }
        var chains = try await context.chains(of: adding.map(\.candidate)).makeIterator()
        let names = context.rules.set.names
        for index in active.indices {
            // A document in conflict keeps its contributions until it is resolved, and so does one that can't be seen.
            guard let decision = active[index].plan?.decision, decision.resolution == nil,
                !active[index].candidate.content.isLost, !active[index].known.onlyLearns
            else { continue }
            var contributed = counts.contributed(decision.contributions)
            var refusal: DeadLetter?
            if let rule = decision.contributions.first.map({ names[$0.rule] }), let chain = chains.next() {
                contributed.chain = chain
                let next = chain.followed(by: rule)
                if next.isTooLong {
                    refusal = active[index].candidate.deadLetter(rule: rule, reason: next.reason)
                }
            }
            active[index].edit { plan, result, _ in
                // Its earlier contribution stays: removing it would be the next step of the chain.
                result.contributed = refusal == nil ? contributed : nil
                plan.refusal = refusal
            }
        }
    }

    /// Ends documents that only had to be counted. A document that can't be counted adds nothing. If it came from a
    /// pass, it becomes a dead letter; otherwise it has one already.
    private mutating func endCounted() {
        for index in active.indices where active[index].candidate.reason.countsOnly {
            let candidate = active[index].candidate
            var failure: DeadLetter?
            if let error = active[index].plan?.decision.error, candidate.reason.isFromCount,
                !context.state.deadLettered.knows(candidate.id)
            {
                failure = candidate.deadLetter(rule: error.rule, reason: error.reason)
            }
            follow(active[index].take(.counted(failure: failure)), of: index)
        }
        removeFinished()
    }

    // MARK: - Tallies

    /// Counts matches and fired rules, each candidate once.
    mutating func tally() async {
        var fired: [[Int]] = []
        var matched = 0
        for index in active.indices where !active[index].candidate.history.isCounted {
            guard let decision = active[index].plan?.decision else { continue }
            guard !decision.fired.isEmpty || decision.error != nil || !decision.skipped.isEmpty else { continue }
            if !active[index].candidate.history.isMatched { matched += 1 }
            active[index].edit { _, _, history in
                history.isCounted = true
                history.isMatched = true
            }
            fired.append(decision.fired)
        }
        guard !fired.isEmpty else { return }
        let names = context.rules.set.names
        await context.progress.count { [fired, matched] counters in
            counters.matched += matched
            for rule in fired.joined() { counters.rules.fired[names[rule], default: 0] += 1 }
        }
    }

    /// Counts the dead letters of skipped rules. Abandons candidates whose dead letters would exceed the error limit,
    /// which ends the run.
    mutating func admitSkippedRules(of places: [Int]) async {
        for index in places where !active[index].result.skippedRules.isEmpty {
            // A refused plan has one dead letter, even if rules were skipped.
            guard active[index].plan?.refusal == nil else { continue }
            let deadLetters =
                active[index].result.skippedRules.count - active[index].candidate.history.countedSkips
            guard deadLetters > 0 else { continue }
            // Either all dead letters of a document are saved, or none.
            guard await context.progress.admit(1, context.settings.errorLimit) == 1 else {
                follow(active[index].take(.abandoned), of: index)
                continue
            }
            await context.progress.count { $0.deadLetters += deadLetters - 1 }
            active[index].edit { _, _, history in history.countedSkips += deadLetters }
        }
    }
}
