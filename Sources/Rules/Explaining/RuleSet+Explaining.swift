internal import Encodings
internal import JQ
package import LosslessJSON

extension RuleSet {
    /// Explains for each rule, in order, why it fires or does not fire for a document, and what all rules do together.
    ///
    /// Each rule is evaluated on the original document. If running all rules changes its outcome, because others change
    /// the document or fail, the explanation says so.
    ///
    /// - Parameters:
    ///   - now: The programs' `$now`, in seconds since 1970.
    ///   - names: The rules to explain. Nil for all. All rules take part in the decision in any case.
    /// - Returns: An explanation for each rule, and one line on what `run` and `fix` would do with the document.
    package func explain(
        _ input: DecisionInput, now: Int, only names: [String]? = nil
    ) async -> (rules: [RuleExplanation], summary: String) {
        var explanations = await explainAlone(input, now: now)
        guard let decision = await makeDecider().decide(on: [input], now: now).first else { return (explanations, "") }
        for index in rules.indices {
            explanations[index].combinedRemark = combinedRemark(of: index, explanations[index].outcome, decision)
        }
        let wanted = explanations.filter { names?.contains($0.name) ?? true }
        return (wanted, "all rules together: " + summary(decision))
    }

    private func summary(_ decision: Decision) -> String {
        let skipped = decision.skipped.map { DisplayText.plain($0.description, limit: 400) }
        let remark = skipped.isEmpty ? "" : "; skipped: " + skipped.joined(separator: "; ")
        if let error = decision.error {
            return "the document \(kind.failure): \(DisplayText.plain(error.description, limit: 400))" + remark
        }
        let fired = decision.fired.map { DisplayText.plain(rules[$0].name) }
        let verb = fired.count == 1 ? "fires" : "fire"
        let names = fired.isEmpty ? "none fires" : "\(fired.joined(separator: ", ")) \(verb)"
        return "\(names); \(Self.result(of: decision))" + remark
    }

    private static func result(of decision: Decision) -> String {
        if decision.isMapping {
            let count = decision.mapped.count
            return count == 0 ? "the document is dropped" : "it produces \(count.counted("document"))"
        }
        if let resolution = decision.resolution { return "the conflict is resolved first (\(resolution.title))" }
        let own = decision.isDeletion ? "is deleted" : decision.isChanged ? "is written" : "stays as it is"
        let (puts, effects) = (decision.puts.count, decision.outside.count)
        let related = decision.related.map { "; 'related' acts on documents that match \($0.selector.excerpt)" }
            .joined()
        let totals = decision.contributions.count
        let waiting = decision.times.filter { !$0.hasFired }
        let timers = waiting.prefix(3).map { "\(DisplayText.plain($0.rule)) at \(Timestamp.text($0.due))" }
        let rest = waiting.count > 3 ? " and \(waiting.count - 3) more" : ""
        let put = puts == 0 ? "" : "; \(puts.counted("other document")) \(puts == 1 ? "is" : "are") put"
        let outside = effects == 0 ? "" : "; \(effects.counted("effect")) outside the database"
        let counted = totals == 0 ? "" : "; it is counted in \(totals.counted("document")) with totals"
        let timed = waiting.isEmpty ? "" : "; timers: " + timers.joined(separator: ", ") + rest
        return "the document \(own)" + put + related + outside + counted + timed
    }

    private func combinedRemark(of index: Int, _ outcome: RuleExplanation.Outcome, _ decision: Decision) -> String? {
        if let skip = decision.skipped.first(where: { $0.rule == rules[index].name }) {
            guard case .undecided = outcome else { return "is skipped: \(DisplayText.plain(skip.reason, limit: 400))" }
            return nil
        }
        let fires = decision.fired.contains(index)
        let effectOfOthers = "after other rules have changed the document"
        guard let error = decision.error else {
            return switch outcome {
            case .fires where !fires && decision.resolution != nil:
                rules[index].phase != .resolving
                    ? "but not before the conflict is resolved" : "but another rule resolves the conflict"
            case .fires where !fires: "but not \(effectOfOthers)"
            case .doesNotFire where fires, .undecided where fires: "but fires \(effectOfOthers)"
            case .undecided: "but other rules change the document first, and then it does not fire"
            default: nil
            }
        }
        return switch outcome {
        case .fires: "but the document \(kind.failure), see below"
        case .doesNotFire where error.rule == rules[index].name: "but fails \(effectOfOthers), see below"
        default: nil
        }
    }

    private func explainAlone(_ input: DecisionInput, now: Int) async -> [RuleExplanation] {
        var explanations = explain(
            input.document, isDeleted: input.isDeleted, isInConflict: input.isInConflict,
            lastSeen: input.lastSeen)
        let scratch = MatchScratch()
        await evaluateTimes(&explanations, input, now: now, scratch)
        var evaluated: [Int] = []
        var calls: [JQCall] = []
        for (index, rule) in rules.enumerated() where explanations[index].dependsOnlyOnCondition {
            guard let condition = rule.condition else { continue }
            evaluated.append(index)
            calls += self.calls(
                [condition], of: rule, document: input.document, matched: input.document, input, now: now,
                edge: explanations[index].comparison?.edge, scratch)
        }
        for (index, outcome) in zip(evaluated, await jq?.run(calls) ?? []) {
            switch ConditionOutcome(outcome) {
            case .holds: explanations[index].condition = .holds
            case .fails: explanations[index].condition = .fails
            case .failed(let reason, _): explanations[index].condition = .failed(reason)
            }
            let edge = explanations[index].comparison?.edge
            explanations[index].conditionDetails = conditionDetails(of: rules[index], input, edge, now: now, scratch)
        }
        for index in rules.indices where explanations[index].outcome == .fires {
            explanations[index].consequence = await consequence(of: rules[index], input, now: now)
        }
        return explanations
    }

    private func evaluateTimes(
        _ explanations: inout [RuleExplanation], _ input: DecisionInput, now: Int, _ scratch: MatchScratch
    ) async {
        var evaluated: [Int] = []
        var calls: [JQCall] = []
        for (index, rule) in rules.enumerated() where explanations[index].selectorsHold {
            guard let time = rule.time else { continue }
            evaluated.append(index)
            calls += self.calls(
                [time], of: rule, document: input.document, matched: input.document, input, now: now, scratch)
        }
        guard !calls.isEmpty else { return }
        for (index, outcome) in zip(evaluated, await jq?.run(calls) ?? []) {
            switch DueTime(outcome) {
            case .never: explanations[index].time = .missing
            case .at(let due): explanations[index].time = due > now ? .future(due) : .past
            case .failed(let reason, _): explanations[index].time = .failed(reason)
            }
        }
    }

    private func conditionDetails(
        of rule: Rule, _ input: DecisionInput, _ edge: Edge?, now: Int, _ scratch: MatchScratch
    ) -> ConditionExplanation? {
        guard let node = rule.definition.source.member("if"), let program = node.text ?? node.member("jq")?.text else {
            return nil
        }
        let match = MatchedGroups.json(of: rule.when, in: input.document.root, scratch)
        let change = input.change(edge: edge?.id(rule: rule.name, of: input.document))
        return ConditionExplanation(program, input, change: change, match: match, now: now)
    }

    /// The result of a rule's actions if it runs alone on the document.
    private func consequence(
        of rule: Rule, _ input: DecisionInput, now: Int
    ) async -> RuleExplanation.Consequence {
        let decision = await RuleSet(rule, of: self).makeDecider().decide(on: [input], now: now).first
        // A mapping without a valid result is not an error of one of its rules.
        if let skip = decision?.skipped.first { return .failed(skip.reason) }
        if let error = decision?.error, kind == .rules || error.rule != nil { return .failed(error.reason) }
        return decision?.fired.isEmpty == false ? .none : .testFailed
    }

    /// Like the full explanation, but runs no programs: ``RuleExplanation/condition`` is not set.
    ///
    /// - Parameters:
    ///   - isDeleted: Whether the document is a tombstone.
    ///   - isInConflict: Whether it has other leaf revisions.
    ///   - lastSeen: The states of it that rules last saw, by the rule's name.
    package func explain(
        _ document: JSONText, isDeleted: Bool = false, isInConflict: Bool = false, lastSeen: [String: LastSeen] = [:]
    ) -> [RuleExplanation] {
        let scratch = MatchScratch()
        return rules.map { rule in
            var explainer = SelectorExplainer(scratch)
            return RuleExplanation(
                rule, document.root, isDeleted: isDeleted, isInConflict: isInConflict,
                lastSeen: lastSeen[rule.name], &explainer)
        }
    }
}
