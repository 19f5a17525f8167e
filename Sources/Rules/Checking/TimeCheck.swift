/// Finds rules that depend on the time, but that nothing evaluates again when the time comes. Also finds times that no
/// document sets.
enum TimeCheck {
    static func warnings(_ rule: CheckedRule) -> [RuleWarning] { missedTime(rule) + fixedTime(rule) }

    private static func missedTime(_ rule: CheckedRule) -> [RuleWarning] {
        guard rule.rule.kind == .rules, rule.rule.on.contains(.change), rule.rule.time == nil,
            !rule.rule.definition.isScheduled,
            let position = position(ofTimeDependence: rule.rule)
        else { return [] }
        return [
            rule.warning(
                at: position, .noTimer,
                "it depends on the time, but `run` evaluates it only when the document changes; give it a time with "
                    + "`at: PROGRAM`, or move it to a file with `every:`; if changes are enough, accept this with "
                    + "`allow: [\(RuleWarning.Code.noTimer.rawValue)]`")
        ]
    }

    /// The position of an `if` that reads the time, or of another program that compares the time with a value.
    private static func position(ofTimeDependence rule: Rule) -> SourcePosition? {
        if let condition = rule.definition.source.member("if"),
            let program = (condition.member("jq") ?? condition).text,
            readsTime(program)
        {
            return condition.position
        }
        return rule.definition.source.member("then").flatMap { then in
            ActionCheck.programs(in: then).first { readsTime($0.text) && comparesOrder($0.text) }?.position
        }
    }

    private static func fixedTime(_ rule: CheckedRule) -> [RuleWarning] {
        guard let node = rule.rule.definition.source.member("at"), let program = (node.member("jq") ?? node).text else {
            return []
        }
        let tokens = tokens(of: program)
        // Other programs may read the document implicitly.
        guard let first = tokens.first, first == "$now" || first == "now" || isLiteral(first),
            !tokens.contains(where: isPath)
        else { return [] }
        let code = RuleWarning.Code.fixedTime
        let message =
            readsTime(program)
            ? "its `at` moves with the clock, so that time never arrives; compute it from a member of the document, "
                + "such as .createdAt | fromdate + 86400"
            : "its `at` does not read the document, so the time is the same for all; if that is intended, accept "
                + "this with `allow: [\(code.rawValue)]`"
        return [rule.warning(at: node.position, code, message)]
    }

    private static func readsTime(_ program: String) -> Bool {
        !ProgramIdentifiers(program).words.isDisjoint(with: ["$now", "now"])
    }

    private static func comparesOrder(_ program: String) -> Bool {
        !Set(tokens(of: program)).isDisjoint(with: ["<", "<=", ">", ">="])
    }

    private static func tokens(of program: String) -> [String] {
        let tokens = ProgramTokens(program)
        return tokens.ranges.indices.map(tokens.text)
    }

    private static func isLiteral(_ token: String) -> Bool {
        token.first.map { $0 == "\"" || $0.isASCII && $0.isNumber } ?? false
    }

    /// `.dueAt`, `.`, `$change`; not the fraction of a number.
    private static func isPath(_ token: String) -> Bool {
        if token.hasPrefix("$") { return token != "$now" }
        return token.hasPrefix(".") && !(token.dropFirst().first?.isNumber ?? false) || token.contains("\\(")
    }
}
