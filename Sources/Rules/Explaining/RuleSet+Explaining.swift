internal import JQ
package import LosslessJSON

extension RuleSet {
    /// For each rule, in their order, why it fires for a document as it is, or does not.
    ///
    /// Each rule is asked about the document itself, not about what rules before it make of it.
    ///
    /// - Parameter now: What programs know as `$now`, in seconds since 1970.
    package func explain(_ input: DecisionInput, now: Int) async -> [RuleExplanation] {
        var explanations = explain(input.document, isDeleted: input.isDeleted)
        let scratch = MatchScratch()
        var asked: [Int] = []
        var calls: [JQCall] = []
        for (index, rule) in rules.enumerated() where explanations[index].selectorsHold {
            guard let condition = rule.condition else { continue }
            asked.append(index)
            calls += self.calls(
                [condition], of: rule, document: input.document, matched: input.document, input, now: now, scratch)
        }
        for (index, outcome) in zip(asked, await jq?.run(calls) ?? []) {
            switch ConditionOutcome(outcome) {
            case .holds: explanations[index].condition = .holds
            case .fails: explanations[index].condition = .fails
            case .failed(let reason, _): explanations[index].condition = .failed(reason)
            }
        }
        for index in rules.indices where explanations[index].outcome == .fires {
            explanations[index].consequence = await consequence(of: rules[index], input, now: now)
        }
        return explanations
    }

    /// What comes of a rule whose conditions hold, when it is let loose on the document alone.
    private func consequence(
        of rule: Rule, _ input: DecisionInput, now: Int
    ) async -> RuleExplanation.Consequence {
        let decision = await RuleSet(rule, of: self).makeDecider().decide(on: [input], now: now).first
        // That a mapping gives no whole document yet is no fault of one of its rules.
        if let fault = decision?.fault, kind == .rules || fault.rule != nil { return .failed(fault.reason) }
        return decision?.fired.isEmpty == false ? .none : .testFailed
    }

    /// The same without asking any program: ``RuleExplanation/condition`` stays open.
    ///
    /// - Parameter isDeleted: Whether the document is a tombstone.
    package func explain(_ document: JSONText, isDeleted: Bool = false) -> [RuleExplanation] {
        let scratch = MatchScratch()
        return rules.map { rule in
            var explainer = SelectorExplainer(scratch)
            return RuleExplanation(rule, document.root, isDeleted: isDeleted, &explainer)
        }
    }
}
