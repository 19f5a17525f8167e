internal import LosslessJSON
internal import Rules

/// What the rules of a text do to sample documents.
struct Trial: Sendable {
    let rules: RuleSet
    /// `$now`, in seconds since 1970.
    let now: Int

    func input(_ sample: Sample) async -> DecisionInput {
        var lastSeen: [String: LastSeen] = [:]
        if let before = sample.before { lastSeen = await rules.lastSeen(of: before, now: now) }
        return DecisionInput(sample.document, isDeleted: sample.isDeleted, lastSeen: lastSeen)
    }

    func inputs(_ samples: some Sequence<Sample>) async -> [DecisionInput] {
        var inputs: [DecisionInput] = []
        for sample in samples { inputs.append(await input(sample)) }
        return inputs
    }

    func report(_ sample: Sample, _ decision: Decision) -> DecisionReport {
        DecisionReport(sample.document, decision, names: rules.names, aggregates: rules.aggregates)
    }

    func report(of sample: Sample) async -> DecisionReport? {
        let decision = await rules.makeDecider().decide(on: [await input(sample)], now: now).first
        return decision.map { report(sample, $0) }
    }
}

/// How many documents each rule fires for.
struct TrialCounts: Equatable, Sendable {
    /// By the index of the rule.
    var fired: [Int]
    var decided = 0
    var changed = 0
    var failed = 0

    init(ruleCount: Int) { fired = [Int](repeating: 0, count: ruleCount) }

    mutating func add(_ decisions: [Decision]) {
        decided += decisions.count
        for decision in decisions {
            if decision.error != nil { failed += 1 } else if decision.isChanged { changed += 1 }
            for rule in decision.fired { fired[rule] += 1 }
        }
    }
}
