internal import BotState
internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import Outside
internal import Rules

/// Candidates whose webhooks must be sent. If receivers are slow, the writer continues without them, and they finish in
/// a separate round.
struct WebhookBatch: Sendable {
    let active: [CandidateProgress]
    /// Of what is in memory for them, except documents from the feed.
    let readings: [MemoryBudget.Reading]
    /// Raised once all are settled, put back or postponed.
    let ended = Signal("the end of a webhook")

    /// How long a writer waits for receivers before it continues with other changes.
    static let maxWriterWait: Duration = .milliseconds(100)

    /// Sends the webhooks of several changes concurrently, those of one change in order, and finishes the changes as
    /// the answers arrive.
    ///
    /// - Throws: `RunError`, ``StateError``, `CancellationError`.
    func run(_ context: RoundContext) async throws {
        defer { withExtendedLifetime(self) { ended.raise() } }
        guard let sender = context.webhooks else { return }
        let stage = WebhookStage(context: context, sender: sender, now: context.settings.now())
        do {
            try await withThrowingTaskGroup(of: Answer?.self) { group in
                defer { group.cancelAll() }
                for progress in active {
                    group.addTask {
                        guard let plan = progress.staged else { return Answer(progress: progress, answer: .outdated) }
                        return try await stage.send(plan, of: progress)
                    }
                }
                var documents = context.makeSender(context.gateway)
                var open = active.count
                var answered: [Answer] = []
                while open > 0, let next = try await group.next() {
                    if let answer = next {
                        open -= 1
                        answered.append(answer)
                        guard answered.count == 1, open > 0 else { continue }
                        // The others may take long.
                        group.addTask {
                            try await Task.sleep(for: Self.maxWriterWait)
                            return nil
                        }
                    } else {
                        try await finish(answered, context, &documents)
                        answered = []
                    }
                }
                try await finish(answered, context, &documents)
            }
        } catch is RunIsStopping {
            await context.flow.queue.abort()
        }
    }

    /// The result for one change.
    struct Answer: Sendable {
        var progress: CandidateProgress
        let answer: CandidateProgress.StageAnswer
    }

    private func finish(
        _ answered: [Answer], _ context: RoundContext, _ sender: inout BulkSender
    ) async throws {
        guard !answered.isEmpty else { return }
        var round = Round(context)
        round.active = answered.map(\.progress)
        round.take(answered.map(\.answer), of: Array(answered.indices))
        try await round.finish(EmitStage(context: context), &sender)
        await context.flow.queue.putBack(round.again)
    }
}

/// Sends the webhooks of one change in order, until a receiver does not accept one.
struct WebhookStage: Sendable {
    let context: RoundContext
    let sender: WebhookSender
    /// The programs' `$now`, in seconds since 1970.
    let now: Int

    func send(_ plan: StagedPlan, of progress: CandidateProgress) async throws -> WebhookBatch.Answer {
        var accepted: [TraceEntry.Effect] = []
        let answer = try await send(plan, &accepted)
        var progress = progress
        if context.state.ledger.traces { progress.note(accepted) }
        return WebhookBatch.Answer(progress: progress, answer: answer)
    }

    /// - Parameter traced: Gets the accepted events.
    private func send(
        _ plan: StagedPlan, _ traced: inout [TraceEntry.Effect]
    ) async throws -> CandidateProgress.StageAnswer {
        let origins = Set(plan.decision.outside.compactMap(\.webhook?.access.origin))
        if origins.count > 1,
            let turn = await sender.retryTimeIfBusy(origins, isReturning: plan.candidate.history.hasWaited)
        {
            return .waits(until: turn)
        }
        var decision = plan.decision
        var accepted = 0
        var answer: CandidateProgress.StageAnswer?
        for effect in plan.decision.outside where answer == nil {
            guard let webhook = effect.webhook else { continue }
            answer = try await send(webhook, effect, of: plan, &decision, &accepted, &traced)
        }
        let isRefused = if case .impossible? = answer { true } else { false }
        await context.progress.count { [accepted] counters in
            counters.outside.accepted += accepted
            counters.outside.refused += isRefused ? 1 : 0
        }
        if let answer { return answer }
        return decision.answered.isEmpty ? .done(hasEffect: true) : answered(decision, plan)
    }

    /// Sends one webhook, and merges the answer into the decision if the rule requests it.
    ///
    /// - Returns: Nil if the receiver accepted it.
    private func send(
        _ webhook: WebhookEffect, _ effect: OutsideEffect, of plan: StagedPlan, _ decision: inout Decision,
        _ accepted: inout Int, _ traced: inout [TraceEntry.Effect]
    ) async throws -> CandidateProgress.StageAnswer? {
        let candidate = plan.candidate
        let rule = context.rules.set.names[effect.origin.rule]
        let identity = context.identity(of: effect, action: effect.action, in: plan)
        let outcome = try await sender.send(
            webhook, identity, of: candidate.id.text, at: candidate.content.revision,
            isReturning: candidate.history.hasWaited)
        switch outcome {
        case .refused(let reason): return .impossible(rule: rule, reason: reason)
        case .postponed(let due):
            await context.progress.noteRetry()
            return .waits(until: due)
        case .deferred(let due): return .waits(until: due)
        case .accepted(let answer, let isNew):
            if isNew { accepted += 1 }
            traced.append(context.trace(effect, effect.action, to: webhook.access.origin, identity.id))
            guard let answer else { return nil }
            let input = DecisionInput(
                plan.plan.report.document, isDeleted: candidate.content.isDeleted,
                sequence: candidate.reason.sequence?.json)
            decision = await context.rules.set.merge(
                answer, of: webhook, effect.origin, into: decision, of: input, now: now)
            guard let error = decision.error else { return nil }
            return error.isTemporary
                ? .waits(until: .now + AttemptLimits.contestedWait) : .impossible(rule: rule, reason: error.reason)
        }
    }

    /// The document contains receivers' answers now, so the rules must decide its new revision. It is recorded with the
    /// rules that led to it, as for a `put`.
    private func answered(_ decision: Decision, _ plan: StagedPlan) -> CandidateProgress.StageAnswer {
        let names = context.rules.set.names
        var chain = plan.known.chain ?? RuleChain()
        for rule in decision.answered { chain = chain.followed(by: names[rule]) }
        return .answered(DecisionReport(plan.plan.report.document, decision, names: names), cause: chain)
    }
}

extension OutsideEffect {
    var webhook: WebhookEffect? {
        if case .webhook(let webhook) = kind { webhook } else { nil }
    }
}
