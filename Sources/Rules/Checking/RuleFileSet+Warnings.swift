extension RuleFileSet {
    /// Everything that is legal in the files but probably wrong, file by file. Slow for very many rules: compares each
    /// pair.
    package func warnings() -> [RuleWarning] {
        var byRule: [String?: [RuleWarning]] = [:]
        for rules in rulesThatRunTogether {
            for warning in RuleChecker(rules.map { ($0, RulePrediction(of: $0)) }).warnings {
                byRule[warning.rule, default: []].append(warning)
            }
        }
        let blobs = BlobCheck(files.flatMap(\.rules))
        for rule in files.flatMap(\.rules) {
            byRule[rule.name, default: []] += blobs.warnings(rule)
            let likelyTypos = ActionCheck.warnings(rule)
            // The rule does not do what its author intended, so conclusions from it would mislead.
            if likelyTypos.contains(where: \.isLikelyTypo) {
                byRule[rule.name]?.removeAll { [.firesAgain, .neverRests].contains($0.code) }
            }
            byRule[rule.name, default: []] += likelyTypos
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

    /// Names and values that are probably mistyped, and files without rules. Fast, regardless of the number of rules.
    package func likelyTypos() -> [RuleWarning] {
        let likelyTypos = files.flatMap(\.rules).flatMap { rule in
            let literals = RuleChecker.literals(CheckedRule(rule, RulePrediction(of: rule)))
            return rule.unaccepted(literals + ActionCheck.warnings(rule)).filter(\.isLikelyTypo)
        }
        return files.flatMap(\.warnings) + likelyTypos
    }

    /// Rules that run together: those for changes, and those with the same times. Mappings checked together are usually
    /// alternatives, so each file is a separate group.
    private var rulesThatRunTogether: [[Rule]] {
        let rules = files.filter { $0.kind == .rules }.flatMap(\.rules)
        let scheduled = scheduled.map { group in rules.filter { group.names.contains($0.name) } }
        return [rules.filter { !$0.definition.isScheduled }] + scheduled
            + files.filter { $0.kind == .mapping }.map(\.rules)
    }
}

extension RuleFile {
    /// Problems of the file besides its rules. A mapping may consist of only its `otherwise`.
    fileprivate var warnings: [RuleWarning] {
        guard rules.isEmpty, otherwise == nil else { return [] }
        return [
            RuleWarning(
                path: path, position: rulesPosition, rule: nil, code: .noRules,
                message: "there are no rules in this file, so it does nothing; add a rule, or leave the file out")
        ]
    }
}
