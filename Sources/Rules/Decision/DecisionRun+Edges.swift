internal import LosslessJSON

// Rules with `changed`, `enter` or `leave`, which compare the document with what they saw of it last.
extension DecisionRun {
    /// Notes what a rule sees of the document as it is now.
    ///
    /// - Returns: Nil if the rule certainly does not fire.
    mutating func comparison(
        _ rule: Rule, _ index: Int, _ edges: EdgeCondition, _ scratch: MatchScratch
    ) throws(DecisionError) -> RuleAttempt? {
        var found: EdgeCondition.Look?
        let before = pass.firedAt[index] ?? input.lastSeen[rule.name]
        let fate: EdgeCondition.Fate = input.isDeleted ? .deleted : input.isLost || draft.isDeleted ? .lost : .present
        do throws(MatchError) {
            found = try edges.look(rule, draft.document.root, fate, before: before, scratch)
            found?.onlyLearns = input.onlyLearns
        } catch {
            throw DecisionError(rule: rule.name, reason: error.description)
        }
        guard let look = found else { return nil }
        let size = edges.lastSeen(look, matches: look.matches)?.values.count ?? 0
        if size > EdgeCondition.valuesLimit { throw rule.remembersTooMuch(size) }
        let attempt = RuleAttempt(rule, index, draft, look)
        if edges.asksCondition(look) || edges.edge(look, matches: look.matches) != nil { return attempt }
        pass.seen[index] = edges.lastSeen(look, matches: look.matches)
        return nil
    }

    /// Notes what the rule of an attempt saw.
    mutating func noteSeen(_ attempt: RuleAttempt) {
        if attempt.rule.edges != nil { pass.seen[attempt.index] = attempt.seen }
    }

    /// What must be recorded: where rules see something else now than before. The last pass looked at the final
    /// document.
    func seen() -> [SeenByRule] {
        var records: [SeenByRule] = []
        for (index, seen) in pass.seen.sorted(by: { $0.key < $1.key }) {
            guard var seen else { continue }
            let rule = ruleSet.rules[index]
            let before = input.lastSeen[rule.name]
            seen.edge = before?.edge ?? 0
            if let edge = decision.reasons.edges[index] {
                seen.edge = edge.next(after: before, revision: input.document.root["_rev"]?.string ?? "")
            }
            if seen != before { records.append(SeenByRule(rule: rule.name, lastSeen: seen)) }
        }
        return records
    }
}

extension Rule {
    /// The error for a document of which the rule would remember this many bytes.
    fileprivate func remembersTooMuch(_ size: Int) -> DecisionError {
        let keys = EdgeCondition.keys.reversed().compactMap { definition.source.member($0) }
        let position = keys.first?.position ?? position
        return DecisionError(
            rule: name,
            reason: "the members that the rule remembers have \(size) bytes, but it remembers at most "
                + "\(EdgeCondition.valuesLimit) of a document; name smaller members in 'remember', or don't use "
                + "$before (\(definition.path):\(position.line):\(position.column))")
    }
}
