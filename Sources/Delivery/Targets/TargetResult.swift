internal import DocumentFlow
internal import GatewayClient

/// The results of a batch of orders, by plan.
struct TargetResult {
    /// Why a plan's effects are impossible.
    private(set) var failures: [Int: PlanFailure] = [:]
    /// Plans whose documents have changed since and must be decided again.
    var outdated: Set<Int> = []
    /// Plans that wait for a busy document, and until when.
    private(set) var postponed: [Int: ContinuousClock.Instant] = [:]
    /// Plans for which something was written.
    var plansWithWrites: Set<Int> = []
    /// The documents that were written.
    var documents: [WrittenTarget] = []

    /// Plans for which nothing more is done here.
    var ended: Set<Int> { outdated.union(failures.keys).union(postponed.keys) }

    /// The last failure of a plan counts.
    mutating func fail(_ plan: Int, _ failure: PlanFailure) { failures[plan] = failure }

    /// A plan with several busy documents waits for the last of them.
    mutating func postpone(plans: some Sequence<Int>, until due: ContinuousClock.Instant) {
        for plan in plans { postponed[plan] = max(due, postponed[plan] ?? due) }
    }

    /// Notes the plans that can't be carried out now or at all.
    mutating func note(_ needs: TargetNeeds) {
        failures.merge(needs.failures) { first, _ in first }
        postpone(plans: needs.undecided, until: .now + AttemptLimits.contestedWait)
    }

    /// Adds the results of further orders.
    mutating func merge(_ other: Self) {
        failures.merge(other.failures) { first, _ in first }
        outdated.formUnion(other.outdated)
        for (plan, due) in other.postponed { postpone(plans: [plan], until: due) }
        plansWithWrites.formUnion(other.plansWithWrites)
        documents += other.documents
    }

    /// The targets without the orders of ended plans.
    func withoutEnded(_ targets: [Target], of orders: [some TargetOrder]) -> [Target] {
        let ended = ended
        return targets.compactMap { target in
            var target = target
            target.orders.removeAll { ended.contains(orders[$0].plan) }
            return target.orders.isEmpty ? nil : target
        }
    }
}

/// Another document that was written. Its content is not kept: one batch may write very many large documents.
struct WrittenTarget: Sendable {
    let place: DocumentAddress
    let revision: RevisionID
    /// The size of its new content.
    let byteCount: Int
    /// Whether a rule of this run may fire on its new content; false if the run does not decide it without the feed.
    let rulesMayFire: Bool
    /// The rules that requested it, each once.
    let rules: [String]
    /// Whether it is a tombstone now.
    let isDeletion: Bool
}
