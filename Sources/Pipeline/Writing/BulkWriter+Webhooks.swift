internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import Rules

// Webhooks are sent before the changed documents are written. They go on beside the writer if receivers are slow.
extension BulkWriter {
    /// Plans whose webhooks are to be sent.
    struct WebhookBatch: Sendable {
        let plans: [PreparedPlan]
        /// Of the documents that were read again; nil: the feed brought all.
        let reading: MemoryBudget.Reading?
        /// Raised once all are settled, put back or postponed.
        let ended = Signal()
    }

    /// A writer waits so long for receivers before it goes on to other changes.
    private static let quickAnswer: Duration = .milliseconds(100)

    /// Hands plans over, and returns when they are settled, or soon.
    func send(
        _ plans: [PreparedPlan], _ beside: AsyncStream<WebhookBatch>.Continuation, _ reading: MemoryBudget.Reading?
    ) async throws {
        guard !plans.isEmpty else { return }
        let batch = WebhookBatch(plans: plans, reading: reading)
        beside.yield(batch)
        try await batch.ended.wait(until: .now + Self.quickAnswer)
    }

    /// Sends the webhooks of several changes side by side, those of one change in order, and finishes the changes as the
    /// answers come.
    ///
    /// - Throws: `RunError`, ``StateError``, `CancellationError`.
    func send(_ batch: WebhookBatch) async throws {
        defer { withExtendedLifetime(batch) { $0.ended.raise() } }
        guard let webhooks = shared.webhooks else { return }
        let now = settings.now()
        do {
            try await withThrowingTaskGroup(of: PreparedPlan?.self) { group in
                defer { group.cancelAll() }
                for prepared in batch.plans { group.addTask { try await send(prepared, webhooks, now: now) } }
                var sender = makeSender(shared.gateway)
                var open = batch.plans.count
                var answered: [PreparedPlan] = []
                while open > 0, let next = try await group.next() {
                    if let prepared = next {
                        open -= 1
                        answered.append(prepared)
                        guard answered.count == 1, open > 0 else { continue }
                        // The others may take long.
                        group.addTask {
                            try await Task.sleep(for: Self.quickAnswer)
                            return nil
                        }
                    } else {
                        try await finish(answered, &sender)
                        answered = []
                    }
                }
                try await finish(answered, &sender)
            }
        } catch is RunIsStopping {
            await queue.abort()
        }
    }

    private func finish(_ answered: [PreparedPlan], _ sender: inout BulkSender) async throws {
        guard !answered.isEmpty else { return }
        let decided = try await carryOut(answered)
        await queue.putBack(decided.again + (try await write(decided.writes, &sender)))
    }

    private func send(
        _ prepared: PreparedPlan, _ sender: WebhookSender, now: Int
    ) async throws -> PreparedPlan {
        let plan = prepared.plan
        let names = shared.ruleSet.names
        var decision = plan.decision
        var sent = prepared
        var accepted = 0
        let origins = Set(plan.decision.outside.compactMap(\.webhook?.access.origin))
        if origins.count > 1,
            let turn = await sender.turnIfBusy(origins, isReturning: plan.candidate.hasWaited)
        {
            sent.standing = .postponed(until: turn)
            return sent
        }
        effects: for effect in plan.decision.outside {
            guard let webhook = effect.webhook else { continue }
            let rule = names[effect.origin.rule]
            let identity = identity(of: effect, action: effect.action, in: plan)
            let candidate = plan.candidate
            let outcome = try await sender.send(
                webhook, identity, of: candidate.id.text, at: candidate.revision, isReturning: candidate.hasWaited)
            switch outcome {
            case .refused(let reason):
                sent.standing = .failed(rule: rule, reason: reason)
                break effects
            case .postponed(let due):
                sent.standing = .postponed(until: due)
                await progress.noteRetry()
                break effects
            case .sentAway(let due):
                sent.standing = .postponed(until: due)
                break effects
            case .accepted(let answer, let isNew):
                if isNew { accepted += 1 }
                guard let answer else { continue }
                let input = DecisionInput(
                    plan.report.document, isDeleted: candidate.isDeleted, sequence: candidate.sequence?.json)
                decision = await shared.ruleSet.merge(
                    answer, of: webhook, effect.origin, into: decision, of: input, now: now)
                guard let error = decision.error else { continue }
                sent.standing =
                    error.isTemporary
                    ? .postponed(until: .now + AttemptLimits.contestedWait)
                    : .failed(rule: rule, reason: error.reason)
                break effects
            }
        }
        if sent.isReady, !decision.answered.isEmpty { sent.plan.noteAnswers(decision, names: names) }
        let isRefused = if case .failed = sent.standing { true } else { false }
        await progress.count { [accepted] counters in
            counters.webhooksSent += accepted
            counters.webhooksRefused += isRefused ? 1 : 0
        }
        return sent
    }

    /// What makes the event of an effect unique, also after a crash.
    func identity(of effect: OutsideEffect, action: String, in plan: Planner.Plan) -> CloudEvent.Identity {
        let key = EffectKey.text(
            database: shared.database, document: plan.report.document,
            rule: shared.ruleSet.names[effect.origin.rule], action: action, effect.origin,
            time: plan.decision.firedTimes[effect.origin.rule], passTime: settings.passTime)
        return CloudEvent.Identity(id: key, time: settings.now(), keyspace: "\(shared.gateway.url.keyspace)")
    }
}

extension OutsideEffect {
    var webhook: WebhookEffect? {
        if case .webhook(let webhook) = kind { webhook } else { nil }
    }
}

extension Planner.Plan {
    /// The receivers' answers are in the document now. Its write is a change that rules must see: it is remembered with
    /// the rules that led to it, as that of a `put`.
    fileprivate mutating func noteAnswers(_ decision: Decision, names: [String]) {
        report = DecisionReport(report.document, decision, names: names)
        var chain = chain ?? RuleChain()
        for rule in decision.answered { chain = chain.followed(by: names[rule]) }
        candidate.cause = chain
    }
}
