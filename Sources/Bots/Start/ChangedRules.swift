internal import Rules

/// The rules that are new or changed since the state recorded them.
struct ChangedRules: Equatable {
    /// Rules that `changebot fix` can apply to older documents. Rules with `resolve` are not included: for existing
    /// conflicts there is `changebot resolve`.
    var plain: [String] = []
    /// Rules with `at`. `fix` keeps no timers, so only the run itself can apply them.
    var timed: [String] = []
    /// Rules with `changed`, `enter` or `leave`, which learn the older documents with `fix --learn`.
    var comparing: [String] = []
    /// Such rules whose conditions are unchanged: they still know the documents that they have seen.
    var knowing: [String] = []
    /// Whether rules with `aggregate` have changed. The run counts all documents for them.
    var areCounted = false

    /// Rules that a run without catch-up passes does not apply to older documents.
    var names: [String] { plain + timed + comparing }

    var isEmpty: Bool { names.isEmpty && knowing.isEmpty && !areCounted }
}

extension ChangedRules {
    /// - Parameters:
    ///   - noted: The fingerprints that the state knows, by name.
    ///   - remembering: The rules that still know the documents that they have seen.
    init(_ rules: RuleSet, noted: [String: String], remembering: Set<String>) {
        let fingerprints = rules.fingerprints
        let changed = rules.names.filter { noted[$0] != fingerprints[$0] }
        let (timed, counting) = (Set(rules.timedRules), Set(rules.aggregates.map(\.name)))
        let comparing = Set(rules.comparing.map(\.name))
        let others = timed.union(counting).union(rules.conflictRules).union(comparing)
        plain = changed.filter { !others.contains($0) }
        self.timed = changed.filter(timed.contains)
        self.comparing = changed.filter { comparing.contains($0) && !remembering.contains($0) }
        knowing = changed.filter(comparing.intersection(remembering).contains)
        areCounted = changed.contains(where: counting.contains)
    }
}
