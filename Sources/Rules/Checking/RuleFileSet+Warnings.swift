extension RuleFileSet {
    /// What is legal in the files but probably wrong, file by file. Slow for very many rules: each is compared with
    /// each.
    package func warnings() -> [RuleWarning] {
        var byRule: [String?: [RuleWarning]] = [:]
        for rules in neighbours {
            for warning in RuleChecker(rules.map { ($0, RuleOutlook(of: $0)) }).warnings {
                byRule[warning.rule, default: []].append(warning)
            }
        }
        let blobs = BlobCheck(files.flatMap(\.rules))
        for rule in files.flatMap(\.rules) {
            byRule[rule.name, default: []] += blobs.warnings(rule)
            let slips = ActionCheck.warnings(rule)
            // The rule does not do what its author means: conclusions from it would mislead.
            if slips.contains(where: \.isSlip) {
                byRule[rule.name]?.removeAll { [.firesAgain, .neverRests].contains($0.code) }
            }
            byRule[rule.name, default: []] += slips
        }
        return files.flatMap { file in
            file.warnings
                + file.rules.flatMap { rule in
                    rule.unaccepted(byRule[rule.name] ?? []).sorted {
                        ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
                    }
                }
        }
    }

    /// Names and values that are probably mistyped, and files without rules. Fast, however many rules there are.
    package func slips() -> [RuleWarning] {
        let slips = files.flatMap(\.rules).flatMap { rule in
            let literals = RuleChecker.literals(CheckedRule(rule, RuleOutlook(of: rule)))
            return rule.unaccepted(literals + ActionCheck.warnings(rule)).filter(\.isSlip)
        }
        return files.flatMap(\.warnings) + slips
    }

    /// Rules that run together: those for changes, and those with the same times. Mappings that are checked together are
    /// usually alternatives, so each file counts by itself.
    private var neighbours: [[Rule]] {
        let rules = files.filter { $0.kind == .rules }.flatMap(\.rules)
        let scheduled = scheduled.map { group in rules.filter { group.names.contains($0.name) } }
        return [rules.filter { !$0.isScheduled }] + scheduled + files.filter { $0.kind == .mapping }.map(\.rules)
    }
}

extension RuleFile {
    /// What looks wrong in the file besides its rules. A mapping may consist of its `otherwise` alone.
    fileprivate var warnings: [RuleWarning] {
        guard rules.isEmpty, otherwise == nil else { return [] }
        return [
            RuleWarning(
                path: path, position: rulesPosition, rule: nil, code: .noRules,
                message: "there are no rules in this file, so it does nothing; add a rule, or leave the file out")
        ]
    }
}
