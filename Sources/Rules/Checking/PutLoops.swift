/// Finds pairs of rules that put each other's documents without end, each time with a new value.
struct PutLoops {
    private let rules: [CheckedRule]

    /// - Parameter rules: Without those that never fire.
    init(_ rules: [CheckedRule]) {
        self.rules = rules.filter {
            $0.rule.kind == .rules && $0.rule.on.contains(.change) && $0.dependsOnSelectorsAlone && !$0.outlook.deletes
        }
    }

    /// At most one for each rule, at its action. Only if it is certain: a value that is copied or derived comes to rest.
    var warnings: [RuleWarning] {
        let puts = rules.flatMap { rule in PlacedPut.all(of: rule.rule).map { (rule, put: $0) } }
        // Only a counter goes on for ever, and only few rules have one.
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
        _ rule: CheckedRule, _ put: PlacedPut, _ other: CheckedRule, _ name: String
    ) -> RuleWarning {
        let others =
            other.rule.name == rule.rule.name
            ? "it fires for the documents that it puts"
            : "it and \(other.reference) each fire for the documents that the other puts"
        return rule.warning(
            at: put.position, .ruleLoop,
            "\(others), each time with another '\(DisplayText.plain(name))', without end, a rule loop; exclude the "
                + "documents that were put from one of the selectors")
    }
}

extension PlacedPut {
    /// A member that this `put` counts on, and `answer` counts on or copies; nil if there is none.
    fileprivate func counts(with answer: PlacedPut) -> String? {
        guard answer.keepsID else { return nil }
        let moving = Set(answer.computed.filter { $0.countsItself || $0.copiesItself }.map(\.path))
        return computed.first { $0.countsItself && moving.contains($0.path) }
            .map { FieldPath(names: $0.path).spelling }
    }
}
