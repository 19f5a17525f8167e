internal import LosslessJSON

/// Finds rules whose own effect leaves their selectors true, so that they fire again at every change of the document.
enum RepeatedFiringCheck {
    /// The most members that a remedy names.
    private static let remedyLimit = 3

    /// Only for rules that are repeated, and only if it is certain: a computed value may make a clause false.
    static func warnings(_ rule: CheckedRule) -> [RuleWarning] {
        let outlook = rule.outlook
        guard rule.mayRepeat, !outlook.touched.isEmpty
        else { return [] }
        var knowledge = Knowledge(firing: rule)
        knowledge.apply(outlook)
        guard knowledge.certainlyFires(rule) else { return [] }
        let position = rule.position(of: "then")
        let computed = ComputedMember.all(of: rule.rule)
        if let counter = computed.first(where: \.countsItself) {
            return [rule.warning(at: position, .neverRests, restlessness(counter))]
        }
        // A value derived from other members must be derived again when they change, and is written only if it differs.
        // A pass over all documents is not a change of one of them.
        guard !rule.rule.isScheduled else { return [] }
        guard computed.isEmpty || computed.contains(where: \.readsTime) else { return [] }
        // So must what is done for each element, which may be a new one.
        let lasting = RuleOutlook(of: rule.rule, includesElements: false)
        guard !lasting.touched.isEmpty else { return [] }
        let remedy = remedy(rule, lasting)
        if rule.mergesAnswers {
            return [
                rule.warning(
                    at: position, .firesAgain,
                    "it still matches after the answer is written, so it sends again, until it ends as a dead letter "
                        + "(rule chain); \(remedy)")
            ]
        }
        return [
            rule.warning(
                at: position, .firesAgain,
                "it still matches after it has fired, so it fires again at every change of the document; "
                    + (computed.isEmpty
                        ? remedy
                        : "to fire once, \(remedy); if every time is right, "
                            + "write `allow: [\(RuleWarning.Code.firesAgain.rawValue)]`"))
        ]
    }

    private static func restlessness(_ counter: ComputedMember) -> String {
        let name = DisplayText.plain(FieldPath(names: counter.path).spelling)
        return "it computes '\(name)' from itself and still matches afterwards, so it never stops; every matching "
            + "document becomes a dead letter (rule loop); add a condition to `when`, or an `if`, that is false "
            + "afterwards"
    }

    private static func remedy(_ rule: CheckedRule, _ outlook: RuleOutlook) -> String {
        let states = finalStates(outlook)
        let text = SelectorText()
        guard rule.rule.unless == nil, states.count <= remedyLimit else {
            return "add a condition to `when` that is false afterwards"
        }
        if states.count == 1, case .exists(let isThere)? = states.first?.condition, let path = states.first?.path {
            return "add `\(text.clause(.field(path, .exists(!isThere))))` to `when`"
        }
        let clauses = states.map { text.clause(.field($0.path, $0.condition)) }
        return "add `unless: { \(clauses.joined(separator: ", ")) }`"
    }

    /// Conditions that describe the document when there is nothing left to do.
    private static func finalStates(_ outlook: RuleOutlook) -> [(path: FieldPath, condition: Condition)] {
        var states: [(path: FieldPath, condition: Condition)] = []
        for (names, touch) in outlook.touched {
            let path = FieldPath(names: names)
            states.removeAll { $0.path == path }
            switch touch {
            case .set(let value): states.append((path, .compare(.equal, Literal(value))))
            case .removed: states.append((path, .exists(false)))
            case .attached, .unknown: states.append((path, .exists(true)))
            }
        }
        return states
    }
}

extension Literal {
    fileprivate init(_ text: JSONText) { value = text.root }
}
