internal import Rules

/// The rules that are new, or other than the state knows them.
struct ChangedRules: Equatable {
    /// Those that `changebot fix` applies to older documents. Not those with `resolve`: what is in conflict already is for
    /// `changebot resolve`.
    var plain: [String] = []
    /// Those with `at`: `fix` keeps no timers, so only the run itself can apply them.
    var timed: [String] = []
    /// Whether there are any with `aggregate`: the run counts all documents for them.
    var areCounted = false

    /// Those that older documents have not seen, after a run that only applies them to changes.
    var names: [String] { plain + timed }

    var isEmpty: Bool { names.isEmpty && !areCounted }
}

extension ChangedRules {
    /// - Parameter noted: The fingerprints that the state knows, by name.
    init(_ rules: RuleSet, noted: [String: String]) {
        let fingerprints = rules.fingerprints
        let changed = rules.names.filter { noted[$0] != fingerprints[$0] }
        let (timed, counting) = (Set(rules.timedRules), Set(rules.aggregates.map(\.name)))
        let others = timed.union(counting).union(rules.conflictRules)
        plain = changed.filter { !others.contains($0) }
        self.timed = changed.filter(timed.contains)
        areCounted = changed.contains(where: counting.contains)
    }
}
