/// A rule with what the checks need to know about it.
struct CheckedRule {
    let rule: Rule
    let prediction: RulePrediction
    /// The clauses of `when`.
    let when: [LocatedClause]
    /// The clauses of `unless`. Empty without `unless`.
    let unless: [LocatedClause]

    init(_ rule: Rule, _ prediction: RulePrediction) {
        self.rule = rule
        self.prediction = prediction
        when = rule.definition.source.member("when").map(LocatedClause.conjuncts) ?? []
        unless = rule.definition.source.member("unless").map(LocatedClause.conjuncts) ?? []
    }

    /// Whether only the selectors decide if the rule fires.
    var dependsOnSelectorsAlone: Bool {
        rule.condition == nil && rule.time == nil && rule.edges == nil && !prediction.isGuarded
    }

    /// Whether the rule sees the result of its own write, and only its selectors decide then. Mappings have one pass.
    var mayRepeat: Bool {
        rule.kind == .rules && rule.on.contains(.change) && dependsOnSelectorsAlone && !prediction.deletes
            && !prediction.mayEditEverything
    }

    /// Whether it writes the receiver's answer into the document.
    var mergesAnswers: Bool { rule.actions(of: WebhookAction.self).contains { $0.response != nil } }

    /// The position of one of the rule's keys. Without such a key, the position of the rule.
    func position(of key: String) -> SourcePosition {
        guard case .object(let members) = rule.definition.source.content else { return rule.position }
        return members.first { $0.name == key }?.position ?? rule.position
    }

    func warning(at position: SourcePosition, _ code: RuleWarning.Code, _ message: String) -> RuleWarning {
        RuleWarning(path: rule.definition.path, position: position, rule: rule.name, code: code, message: message)
    }

    /// The rule's name and place in messages about other rules.
    var reference: String { "'\(rule.name)' (\(rule.definition.path):\(rule.position.line))" }
}
