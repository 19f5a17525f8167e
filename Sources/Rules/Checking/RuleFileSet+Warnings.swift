extension RuleFileSet {
    /// What is legal in the files and most likely wrong, file by file.
    package func warnings() -> [RuleWarning] {
        let rules = files.flatMap(\.rules)
        var byRule: [String: [RuleWarning]] = [:]
        for warning in RuleChecker(rules.map { ($0, RuleOutlook(of: $0)) }).warnings {
            byRule[warning.rule, default: []].append(warning)
        }
        for rule in rules { byRule[rule.name, default: []] += ActionCheck.warnings(rule) }
        return rules.flatMap { rule in
            (byRule[rule.name] ?? []).sorted {
                ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
            }
        }
    }
}
