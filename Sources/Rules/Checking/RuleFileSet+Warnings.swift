extension RuleFileSet {
    /// What is legal in the files but probably wrong, file by file. Slow for very many rules: each is compared with
    /// each.
    package func warnings() -> [RuleWarning] {
        let rules = files.flatMap(\.rules)
        var byRule: [String: [RuleWarning]] = [:]
        for rules in neighbours {
            for warning in RuleChecker(rules.map { ($0, RuleOutlook(of: $0)) }).warnings {
                byRule[warning.rule, default: []].append(warning)
            }
        }
        for rule in rules {
            let slips = ActionCheck.warnings(rule)
            // The rule does not do what its author means: conclusions from it would mislead.
            if slips.contains(where: \.isSlip) {
                byRule[rule.name]?.removeAll { [.firesAgain, .neverRests].contains($0.code) }
            }
            byRule[rule.name, default: []] += slips
        }
        return rules.flatMap { rule in
            rule.unaccepted(byRule[rule.name] ?? []).sorted {
                ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
            }
        }
    }

    /// Names and values that are probably mistyped. Fast, however many rules there are.
    package func slips() -> [RuleWarning] {
        files.flatMap(\.rules).flatMap { rule in
            let literals = RuleChecker.literals(CheckedRule(rule, RuleOutlook(of: rule)))
            return rule.unaccepted(literals + ActionCheck.warnings(rule)).filter(\.isSlip)
        }
    }

    /// Rules that run together: those of all files. Mappings that are checked together are usually alternatives, so
    /// each file counts by itself.
    private var neighbours: [[Rule]] {
        [files.filter { $0.kind == .rules }.flatMap(\.rules)] + files.filter { $0.kind == .mapping }.map(\.rules)
    }
}
