package import LosslessJSON

extension Decider {
    /// Whether only rules with `changed`, `enter` or `leave` may fire on a live document without conflicts, as it arrived.
    /// False also if that is uncertain.
    package func onlyCompares(_ document: JSONValue) -> Bool {
        guard !ruleSet.comparingRules.isEmpty, testsExpiry == nil else { return false }
        _ = ruleSet.index.findAll(for: document, isDeleted: false, into: &candidates)
        do throws(MatchError) {
            var at = 0
            while let index = candidates.next(from: at) {
                let rule = ruleSet.rules[index]
                if rule.edges == nil, rule.phase != .resolving, ruleSet.index.sees(document, index),
                    try rule.fires(on: document, scratch)
                {
                    return false
                }
                at = index + 1
            }
            return try ruleSet.filter?.selector.matches(document, scratch) ?? true
        } catch {
            return false
        }
    }

    /// Whether the decision on a live document would fire none of the rules with `changed`, `enter` or `leave`, and would
    /// leave nothing new to remember. Runs no jq program, so false also if that depends on an `if`.
    ///
    /// - Parameter lastSeen: The states that rules last saw, by rule name.
    package func seesNothingNew(in document: JSONValue, since lastSeen: [String: LastSeen]) -> Bool {
        ruleSet.comparingRules.allSatisfy { index in
            let rule = ruleSet.rules[index]
            guard let edges = rule.edges else { return true }
            let before = lastSeen[rule.name]
            do throws(MatchError) {
                guard let observation = try edges.observe(rule, document, .present, before: before, scratch) else {
                    return true
                }
                if rule.condition != nil, edges.dependsOnCondition(observation) { return false }
                return edges.edge(observation, matches: observation.matches) == nil
                    && edges.lastSeen(observation, matches: observation.matches) == before
            } catch {
                return false
            }
        }
    }
}
