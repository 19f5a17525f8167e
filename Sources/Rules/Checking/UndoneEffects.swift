internal import LosslessJSON

/// Finds `put`s that always remove what another rule does to the same documents.
struct UndoneEffects {
    private let rules: [CheckedRule]

    /// - Parameter rules: All rules, except those that never fire.
    init(_ rules: [CheckedRule]) { self.rules = rules.filter { $0.rule.kind == .rules } }

    /// At most one warning for each `put`, at its action.
    var warnings: [RuleWarning] {
        let others = rules.filter {
            $0.rule.on.contains(.change) && $0.rule.condition == nil && $0.rule.time == nil && !$0.prediction.deletes
        }
        return rules.flatMap { rule in
            LocatedPut.all(of: rule.rule).compactMap { put in
                for other in others {
                    if let name = put.memberUndone(of: other) { return Self.warning(rule, put, other, name) }
                }
                return nil
            }
        }
    }

    private static func warning(
        _ rule: CheckedRule, _ put: LocatedPut, _ other: CheckedRule, _ name: String
    ) -> RuleWarning {
        let name = DisplayText.plain(name)
        let what = "each put undoes what \(other.reference) does to '\(name)' of these documents; "
        let remedy =
            put.replaces
            ? "write if_exists: merge, or put '\(name)' into the document"
            : "remove '\(name)' from one of the two"
        return rule.warning(
            at: put.position, .undoneEffect,
            what + remedy + "; if that is intended, accept this with `allow: "
                + "[\(RuleWarning.Code.undoneEffect.rawValue)]`")
    }
}

extension CheckedRule {
    /// Members that one program sets together.
    var computedEdits: [[String]: RulePrediction.Edit] {
        let steps = rule.locatedSteps.filter { $0.step.elements == nil }
        let names = steps.flatMap { $0.step.action.jointlyComputedNames($0.argument) }
        return Dictionary(names.map { ([$0], .unknown) }) { first, _ in first }
    }
}
