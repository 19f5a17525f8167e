internal import LosslessJSON

/// Finds rules whose selectors still hold after their own effect, so that they fire again at every change of the
/// document.
enum RepeatedFiringCheck {
    /// The maximum number of members that a remedy names.
    private static let remedyLimit = 3

    /// Only for rules that run repeatedly, and only if the result is certain: a computed value may make a clause false.
    static func warnings(_ rule: CheckedRule) -> [RuleWarning] {
        let prediction = rule.prediction
        guard rule.mayRepeat, !prediction.edits.isEmpty
        else { return [] }
        var knowledge = Knowledge(firing: rule)
        knowledge.apply(prediction)
        guard knowledge.certainlyFires(rule) else { return [] }
        let position = rule.position(of: "then")
        let computed = ComputedMember.all(of: rule.rule)
        if let counter = computed.first(where: \.incrementsItself) {
            return [rule.warning(at: position, .neverRests, endlessCounting(counter))]
        }
        // A value derived from other members must be recomputed when they change, and is written only if it differs.
        // A pass over all documents is not a change of a document.
        guard !rule.rule.definition.isScheduled else { return [] }
        guard computed.isEmpty || computed.contains(where: \.readsTime) else { return [] }
        guard !rule.rule.actions(of: ExpireAction.self).contains(where: \.setsDate) else { return [] }
        // The same holds for a picture that follows the document.
        guard !rule.rule.actions(of: AttachAction.self).contains(where: { !$0.programs.isEmpty }) else { return [] }
        // Actions for each element must also run again: an element may be new.
        let lasting = RulePrediction(of: rule.rule, includesElements: false)
        guard !lasting.edits.isEmpty else { return [] }
        return [rule.warning(at: position, .firesAgain, firingAgain(rule, remedy(rule, lasting), computed))]
    }

    private static func firingAgain(_ rule: CheckedRule, _ remedy: String, _ computed: [ComputedMember]) -> String {
        if rule.mergesAnswers {
            return "it still matches after the answer is written, so it sends again until the document becomes a "
                + "dead letter (rule chain); \(remedy)"
        }
        return "it still matches after it has fired, so it fires again on every change of the document; "
            + (computed.isEmpty
                ? remedy
                : "to fire once, \(remedy); if it should fire every time, "
                    + "write `allow: [\(RuleWarning.Code.firesAgain.rawValue)]`")
    }

    static func endlessCounting(_ counter: ComputedMember) -> String {
        let name = DisplayText.plain(FieldPath(names: counter.path).spelling)
        return "it computes '\(name)' from itself and still matches afterwards, so it never stops; every matching "
            + "document becomes a dead letter (rule loop); add a condition to `when`, or an `if`, that is false "
            + "afterwards"
    }

    private static func remedy(_ rule: CheckedRule, _ prediction: RulePrediction) -> String {
        let states = finalStates(prediction)
        let text = SelectorText()
        guard rule.rule.unless == nil, states.count <= remedyLimit else {
            return "add a condition to `when` that is false afterwards"
        }
        if states.count == 1, case .exists(let exists)? = states.first?.condition, let path = states.first?.path {
            return "add `\(text.clause(.field(path, .exists(!exists))))` to `when`"
        }
        let clauses = states.map { text.clause(.field($0.path, $0.condition)) }
        return "add `unless: { \(clauses.joined(separator: ", ")) }`"
    }

    /// Conditions that describe the document when nothing is left to do.
    private static func finalStates(_ prediction: RulePrediction) -> [(path: FieldPath, condition: Condition)] {
        var states: [(path: FieldPath, condition: Condition)] = []
        for (names, edit) in prediction.edits {
            let path = FieldPath(names: names)
            states.removeAll { $0.path == path }
            switch edit {
            case .set(let value): states.append((path, .compare(.equal, Literal(value))))
            case .removed: states.append((path, .exists(false)))
            case .attached: states.append((path, .exists(true)))
            case .unknown: states.append((path, .exists(!prediction.removesBlob(at: names))))
            }
        }
        return states
    }
}

extension RulePrediction {
    /// Whether the attachment of a blob at this place is removed, and so the blob.
    fileprivate func removesBlob(at names: [String]) -> Bool {
        let attachment = BlobPlace(JSONPointer(tokens: names)).attachmentName
        return edits.contains { path, edit in
            if case .removed = edit { path == ["_attachments", attachment] } else { false }
        }
    }
}

extension Literal {
    fileprivate init(_ text: JSONText) { value = text.root }
}
