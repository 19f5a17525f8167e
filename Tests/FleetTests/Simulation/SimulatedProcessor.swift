import Fleet

/// The rules of a member: when a document's question has increased, notify the receiver, then copy the question. Their
/// own writes return on the feed and need no action.
struct SimulatedProcessor: Processor {
    let member: SimulatedMember
    let gateway: SimulatedGateway
    let oracle: Oracle
    let scheduler: Scheduler
    let world: World

    func process(
        _ changes: [LoggedChange], _ tenure: Tenure, _ answer: @escaping @Sendable (LoggedChange, Verdict) -> Void
    ) async {
        for change in changes { oracle.begins(change, tenure.lease, member.owner) }
        await withTaskGroup(of: Void.self) { group in
            for change in changes {
                group.addTask {
                    let verdict = await decide(change, tenure)
                    oracle.ends(change, verdict, tenure.lease, member.owner)
                    answer(change, verdict)
                }
            }
        }
    }

    static func isPoison(_ number: Int) -> Bool { number % 41 == 7 }
    static func kills(_ number: Int) -> Bool { number % 67 == 9 }

    private func decide(_ change: LoggedChange, _ tenure: Tenure) async -> Verdict {
        let number = SimulatedGateway.number(change.id)
        // Some documents always fail, and some usually crash the process, until the rules are corrected. It decides
        // nothing, so a change that it replaced by mistake would be missed.
        guard change.entry.kind.isFromFeed else {
            oracle.count("looked")
            return scheduler.chance(0.1) ? .parked(scheduler.time(0.1, 6), "slow") : .done
        }
        if world.hasBadDocuments, Self.isPoison(number) { return .failed("poison") }
        if Self.kills(number), world.fatality > 0, scheduler.chance(world.fatality) {
            member.crash()
            return .postponed
        }
        if scheduler.chance(0.03) { return .parked(scheduler.time(0.1, 6), "slow") }
        for _ in 0..<3 {
            guard !Task.isCancelled else { return .postponed }
            guard case .success(let read) = await member.gatewayRoute.call({ gateway.documents[number] }) else {
                return .parked(.seconds(1), "the gateway is unavailable")
            }
            guard let document = read else { return .dead("there is no such document") }
            if document.answer == document.question {
                oracle.decide(number, generation: document.generation)
                return .done
            }
            // Some rules take longer than a lease lasts.
            if !world.isTroubleFree, scheduler.chance(world.slowRules) {
                try? await member.clock.sleep(for: scheduler.time(0.1, 12))
            }
            guard start(number, document, tenure) else { return .postponed }
            guard
                case .success = await member.receiverRoute.call({
                    gateway.takeWebhook(number, question: document.question)
                })
            else { return .parked(.seconds(1), "the receiver is unavailable") }
            guard start(number, document, tenure) else { return .postponed }
            let write = await member.gatewayRoute.call {
                gateway.answer(number, document.question, generation: document.generation)
            }
            switch write {
            case .success(true):
                oracle.decide(number, generation: document.generation)
                return .done
            case .success(false): oracle.count("conflict")
            case .failure: return .parked(.seconds(1), "no answer to a write")
            }
        }
        return .parked(.seconds(1), "conflicts")
    }

    /// Whether an effect may start. It starts in the same job, so no time passes.
    private func start(_ number: Int, _ document: SimulatedGateway.Document, _ tenure: Tenure) -> Bool {
        guard member.isAlive, tenure.isValid else { return false }
        let isValid = scheduler.now < tenure.deadline - member.clock.offset
        oracle.effect(number, generation: document.generation, tenure, isValid: isValid, member.owner)
        return true
    }
}
