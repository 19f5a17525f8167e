/// Finds rules that are legal but probably wrong: rules that never fire, fire endlessly or conflict with each other,
/// and selectors that probably don't match what the author intended.
struct RuleChecker {
    private let rules: [CheckedRule]

    /// - Parameter rules: All rules, in their order of evaluation.
    init(_ rules: [(rule: Rule, prediction: RulePrediction)]) {
        self.rules = rules.map { CheckedRule($0.rule, $0.prediction) }
    }

    /// In the order of the rules, and by position within a rule.
    var warnings: [RuleWarning] {
        var found: [String?: [RuleWarning]] = [:]
        var live: [CheckedRule] = []
        for rule in rules {
            let firing = FiringCheck(rule)
            found[rule.rule.name] =
                Self.literals(rule) + firing.warnings + TimeCheck.warnings(rule)
                + EdgeCheck.warnings(rule)
            guard !firing.neverFires else { continue }
            live.append(rule)
            found[rule.rule.name, default: []] += RepeatedFiringCheck.warnings(rule)
        }
        for warning in RuleComparison(live).warnings { found[warning.rule, default: []].append(warning) }
        return rules.flatMap { Self.sorted(found[$0.rule.name] ?? []) }
    }

    /// Probable mistakes in the selectors and in the lists of members.
    static func literals(_ rule: CheckedRule) -> [RuleWarning] {
        let source = rule.rule.definition.source
        let selectors = ["when", "unless"].flatMap { key in
            source.member(key).map {
                LiteralCheck.findings(FieldNameCheck.withoutMisplacedKeys($0))
                    + FieldNameCheck.misplacedKeys(in: $0, named: key)
            } ?? []
        }
        return (selectors + FieldNameCheck.findings(inMembersOf: source)).map { rule.warning(at: $0, $1, $2) }
    }

    private static func sorted(_ warnings: [RuleWarning]) -> [RuleWarning] {
        warnings.sorted { left, right in
            (left.position.line, left.position.column, left.message)
                < (right.position.line, right.position.column, right.message)
        }
    }
}
