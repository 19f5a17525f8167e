internal import DocumentFlow
internal import GatewayClient
internal import LosslessJSON
internal import Rules

// What rules want outside the database: it is done before the changed documents are written.
extension BulkWriter {
    /// Carries out the effects outside, those of one change in order. A crash afterwards repeats them with the same
    /// ``EffectKey``.
    ///
    /// - Parameters:
    ///   - plans: Those whose receivers' answers are merged get the decision with the answer.
    ///   - others: Plans whose other documents could not be written are left out.
    func carryOut(
        _ plans: inout [Planner.Plan], after others: OtherDocuments.Result, _ context: inout WriterContext
    ) async throws -> OutsideResult {
        var result = OutsideResult()
        let ended = others.ended
        let wanted = plans.indices.filter { !ended.contains($0) && !plans[$0].decision.outside.isEmpty }
        guard !wanted.isEmpty else { return result }
        // Lines are written last: what can't be sent now is decided again later, and its lines with it.
        try await sendWebhooks(wanted, &plans, context.planner, &result)
        let done = wanted.filter { !result.ended.contains($0) }
        try await emit(done.map { plans[$0] })
        result.plansWithEffects.formUnion(done)
        CrashPoint.outsideEffectsDone.pass()
        return result
    }

    /// What makes the event of an effect unique, also after a crash.
    func identity(of effect: OutsideEffect, action: String, in plan: Planner.Plan) -> CloudEvent.Identity {
        let key = EffectKey.text(
            database: shared.database, document: plan.report.document,
            rule: shared.ruleSet.names[effect.origin.rule], action: action, effect.origin,
            time: plan.decision.firedTimes[effect.origin.rule], passTime: settings.passTime)
        return CloudEvent.Identity(id: key, time: settings.now(), keyspace: "\(shared.gateway.url.keyspace)")
    }

    /// The result of the effects outside, by plan.
    struct OutsideResult {
        /// Why an effect is impossible: the change becomes a dead letter.
        var failures: [Int: OutsideFailure] = [:]
        /// Plans that are decided again later, and when.
        var postponed: [Int: ContinuousClock.Instant] = [:]
        /// Plans all of whose effects were carried out.
        var plansWithEffects: Set<Int> = []

        /// Plans whose own documents are not written.
        var ended: Set<Int> { Set(failures.keys).union(postponed.keys) }
    }

    /// Why an effect outside is impossible.
    struct OutsideFailure: Sendable {
        /// The rule that wants it.
        let rule: String
        let reason: String
    }
}

// MARK: - Webhooks

extension BulkWriter {
    /// What became of the webhooks of one change.
    private struct Sent: Sendable {
        /// With the answers merged.
        var decision: Decision
        var failure: OutsideFailure?
        var due: ContinuousClock.Instant?
        var accepted = 0
    }

    /// Sends the webhooks of several changes side by side, those of one change in order.
    private func sendWebhooks(
        _ wanted: [Int], _ plans: inout [Planner.Plan], _ planner: Planner, _ result: inout OutsideResult
    ) async throws {
        let sending = wanted.filter { plans[$0].decision.outside.contains { $0.webhook != nil } }
        guard !sending.isEmpty, let sender = shared.webhooks else { return }
        let now = planner.now()
        let all = try await withThrowingTaskGroup(of: (Int, Sent).self) { group in
            for index in sending {
                let plan = plans[index]
                group.addTask { (index, try await send(plan, sender, now: now)) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for (index, sent) in all {
            if let failure = sent.failure {
                result.failures[index] = failure
            } else if let due = sent.due {
                result.postponed[index] = due
            } else if !sent.decision.answered.isEmpty {
                plans[index].noteAnswers(sent.decision, names: shared.ruleSet.names)
            }
        }
        await progress.count { counters in
            counters.webhooksSent += all.reduce(0) { $0 + $1.1.accepted }
            counters.webhooksRefused += all.count { $0.1.failure != nil }
        }
    }

    private func send(
        _ plan: Planner.Plan, _ sender: WebhookSender, now: Int
    ) async throws -> Sent {
        let names = shared.ruleSet.names
        let document = plan.report.document
        var sent = Sent(decision: plan.decision)
        for effect in plan.decision.outside {
            guard let webhook = effect.webhook else { continue }
            let rule = names[effect.origin.rule]
            let identity = identity(of: effect, action: effect.action, in: plan)
            let candidate = plan.candidate
            switch try await sender.send(webhook, identity, of: candidate.id.text, at: candidate.revision) {
            case .refused(let reason):
                sent.failure = OutsideFailure(rule: rule, reason: reason)
                return sent
            case .postponed(let due):
                sent.due = due
                await progress.noteRetry()
                return sent
            case .accepted(let answer, let isNew):
                if isNew { sent.accepted += 1 }
                guard let answer else { continue }
                let candidate = plan.candidate
                let input = DecisionInput(
                    document, isDeleted: candidate.isDeleted, sequence: candidate.sequence?.json)
                sent.decision = await shared.ruleSet.merge(
                    answer, of: webhook, effect.origin, into: sent.decision, of: input, now: now)
                guard let error = sent.decision.error else { continue }
                if error.isTemporary {
                    sent.due = .now + AttemptLimits.contestedWait
                } else {
                    sent.failure = OutsideFailure(rule: rule, reason: error.reason)
                }
                return sent
            }
        }
        return sent
    }
}

extension OutsideEffect {
    fileprivate var webhook: WebhookEffect? {
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
