/// Finds pairs of rules that put each other's documents endlessly, each time with a new value.
struct PutLoops {
    private let rules: [CheckedRule]

    /// - Parameter rules: All rules, except those that never fire.
    init(_ rules: [CheckedRule]) {
        self.rules = rules.filter {
            $0.rule.kind == .rules && $0.rule.on.contains(.change) && $0.dependsOnSelectorsAlone
                && !$0.prediction.deletes
        }
    }

    /// At most one warning for each rule, at its action. Only certain loops: a copied or derived value stops changing.
    var warnings: [RuleWarning] {
        let puts = rules.flatMap { rule in LocatedPut.all(of: rule.rule).map { (rule, put: $0) } }
        // Only a counter never stops changing, and few rules have one.
        let counting = puts.filter { $0.put.keepsID && $0.put.computed.contains(where: \.countsItself) }
        var found: Set<String> = []
        return counting.compactMap { rule, put in
            for (other, answer) in puts where !found.contains(rule.rule.name) {
                guard let name = put.counts(with: answer), put.certainlyFires(other), answer.certainlyFires(rule) else {
                    continue
                }
                found.formUnion([rule.rule.name, other.rule.name])
                return Self.warning(rule, put, other, name)
            }
            return nil
        }
    }

    private static func warning(
        _ rule: CheckedRule, _ put: LocatedPut, _ other: CheckedRule, _ name: String
    ) -> RuleWarning {
        let others =
            other.rule.name == rule.rule.name
            ? "it fires for the documents that it puts"
            : "it and \(other.reference) each fire for the documents that the other puts"
        return rule.warning(
            at: put.position, .ruleLoop,
            "\(others), each time with another '\(DisplayText.plain(name))', in an endless rule loop; make one of "
                + "the selectors exclude documents that were put")
    }
}

extension LocatedPut {
    /// A member that this `put` increments, and that `answer` increments or copies. Nil if there is none.
    fileprivate func counts(with answer: LocatedPut) -> String? {
        guard answer.keepsID else { return nil }
        let changing = Set(answer.computed.filter { $0.countsItself || $0.copiesItself }.map(\.path))
        return computed.first { $0.countsItself && changing.contains($0.path) }
            .map { FieldPath(names: $0.path).spelling }
    }
}
