/// A rule as the checks see it.
struct CheckedRule {
    let rule: Rule
    let outlook: RuleOutlook
    /// The clauses of `when`.
    let when: [LocatedClause]
    /// The clauses of `unless`; none if there is no `unless`.
    let unless: [LocatedClause]

    init(_ rule: Rule, _ outlook: RuleOutlook) {
        self.rule = rule
        self.outlook = outlook
        when = rule.source.member("when").map(LocatedClause.conjuncts) ?? []
        unless = rule.source.member("unless").map(LocatedClause.conjuncts) ?? []
    }

    /// Whether the selectors alone decide if the rule fires.
    var dependsOnSelectorsAlone: Bool { rule.condition == nil && rule.time == nil && !outlook.isGuarded }

    /// Whether the rule sees the result of its own work, and its selectors alone decide then. Mappings have one pass.
    var mayRepeat: Bool {
        rule.kind == .rules && rule.on.contains(.change) && dependsOnSelectorsAlone && !outlook.deletes
            && !outlook.touchesEverything
    }

    /// Whether it writes into the document what a receiver answers.
    var mergesAnswers: Bool { rule.actions(of: WebhookAction.self).contains { $0.response != nil } }

    /// The position of one of the rule's keys; without such a key, that of the rule.
    func position(of key: String) -> SourcePosition {
        guard case .object(let members) = rule.source.content else { return rule.position }
        return members.first { $0.name == key }?.position ?? rule.position
    }

    func warning(at position: SourcePosition, _ code: RuleWarning.Code, _ message: String) -> RuleWarning {
        RuleWarning(path: rule.path, position: position, rule: rule.name, code: code, message: message)
    }

    /// How messages about other rules name it.
    var reference: String { "'\(rule.name)' (\(rule.path):\(rule.position.line))" }
}
