internal import LosslessJSON

// Rules with `changed`, `enter` or `leave`, which compare the document with the state that they last saw.
extension DecisionRun {
    /// Records what a rule sees of the document in its current state.
    ///
    /// - Returns: Nil if the rule certainly does not fire.
    mutating func comparison(
        _ rule: Rule, _ index: Int, _ edges: EdgeCondition, _ scratch: MatchScratch
    ) throws(DecisionError) -> RuleAttempt? {
        var found: EdgeCondition.Observation?
        let before = pass.firedAt[index] ?? input.lastSeen[rule.name]
        let visibility = draft.isDeleted && !input.isDeleted ? .lost : input.visibility
        if visibility == .present || visibility == .deleted && edges.on.contains(.delete) {
            input.recorder?.noteMatch(index, draft.document.root, scratch)
        }
        do throws(MatchError) {
            found = try edges.observe(rule, draft.document.root, visibility, before: before, scratch)
            found?.onlyLearns = input.onlyLearns
            found?.ruleNumber = input.ruleNumbers[rule.name] ?? 0
        } catch {
            throw DecisionError(rule: rule.name, reason: error.description)
        }
        guard let observation = found else {
            // It has fired in an earlier pass because the document left.
            if let seen = pass.firedAt[index] { pass.seen[index] = seen }
            return nil
        }
        input.recorder?.noteComparison(index, observation)
        let size = edges.lastSeen(observation, matches: observation.matches)?.values.count ?? 0
        if size > EdgeCondition.valuesLimit { throw rule.rememberedValuesTooLarge(size) }
        let attempt = RuleAttempt(rule, index, draft, observation)
        if edges.dependsOnCondition(observation) || edges.edge(observation, matches: observation.matches) != nil {
            return attempt
        }
        pass.seen[index] = edges.lastSeen(observation, matches: observation.matches)
        return nil
    }

    /// Records what the rule of an attempt saw.
    mutating func noteSeen(_ attempt: RuleAttempt) {
        if attempt.rule.edges != nil { pass.seen[attempt.index] = attempt.seen }
    }

    /// What must be stored: the states that differ from those that the rules saw before. The last pass looked at the
    /// final document.
    ///
    /// - Parameter isWritten: Whether the document must be written.
    func seen(isWritten: Bool) -> [SeenByRule] {
        var records: [SeenByRule] = []
        for (index, seen) in pass.seen.sorted(by: { $0.key < $1.key }) {
            guard var seen else { continue }
            let rule = ruleSet.rules[index]
            let before = input.lastSeen[rule.name]
            seen.edge = before?.edge ?? 0
            if let edge = decision.reasons.edges[index] {
                seen.edge = edge.next(after: before, revision: input.document.root["_rev"]?.string ?? "")
            }
            seen.isWritten = isWritten && rule.mayMistakeOwnWrites
            var known = before
            if !seen.isWritten { known?.isWritten = false }
            if seen != known { records.append(SeenByRule(rule: rule.name, lastSeen: seen)) }
        }
        return records
    }
}

extension Rule {
    /// The error for a document if the values to remember have this many bytes.
    fileprivate func rememberedValuesTooLarge(_ size: Int) -> DecisionError {
        let keys = EdgeCondition.keys.reversed().compactMap { definition.source.member($0) }
        let position = keys.first?.position ?? position
        return DecisionError(
            rule: name,
            reason: "the values to remember have \(size) bytes, but the limit is \(EdgeCondition.valuesLimit) for each "
                + "document; name smaller members in 'remember', or don't use $before "
                + "(\(definition.path):\(position.line):\(position.column))")
    }
}
