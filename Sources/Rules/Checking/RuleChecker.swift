/// Finds what is legal in rules but probably wrong: rules that never fire, fire for ever or obstruct each other, and
/// selectors that don't ask what they seem to.
struct RuleChecker {
    private let rules: [CheckedRule]

    /// - Parameter rules: All rules, in the order in which they are tried.
    init(_ rules: [(rule: Rule, outlook: RuleOutlook)]) {
        self.rules = rules.map { CheckedRule($0.rule, $0.outlook) }
    }

    /// In the order of the rules, and by position within a rule.
    var warnings: [RuleWarning] {
        var found: [String?: [RuleWarning]] = [:]
        var live: [CheckedRule] = []
        for rule in rules {
            let firing = FiringCheck(rule)
            found[rule.rule.name] = Self.literals(rule) + firing.warnings + TimeCheck.warnings(rule)
            guard !firing.isDead else { continue }
            live.append(rule)
            found[rule.rule.name, default: []] += RepeatedFiringCheck.warnings(rule)
        }
        for warning in RuleComparison(live).warnings { found[warning.rule, default: []].append(warning) }
        return rules.flatMap { Self.sorted(found[$0.rule.name] ?? []) }
    }

    /// Probable mistakes in the selectors.
    static func literals(_ rule: CheckedRule) -> [RuleWarning] {
        ["when", "unless"].compactMap(rule.rule.source.member).flatMap { node in
            LiteralCheck.warnings(rule, SelectorOutline(node))
        }
    }

    private static func sorted(_ warnings: [RuleWarning]) -> [RuleWarning] {
        warnings.sorted { left, right in
            (left.position.line, left.position.column, left.message)
                < (right.position.line, right.position.column, right.message)
        }
    }
}
