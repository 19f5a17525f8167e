internal import JQ
internal import LosslessJSON

extension RuleSet {
    /// The jq calls that a rule needs for a document.
    ///
    /// - Parameters:
    ///   - document: The input of the programs.
    ///   - matched: The document for which the rule's selectors held.
    func calls(
        _ programs: [Int], of rule: Rule, document: JSONText, matched: JSONText, _ input: DecisionInput, now: Int,
        _ scratch: MatchScratch
    ) -> [JQCall] {
        guard !programs.isEmpty else { return [] }
        let change = input.change
        let match =
            programs.contains { usesMatch[$0] }
            ? MatchedGroups.json(of: rule.when, in: matched.root, scratch) : Array("{}".utf8)
        return programs.map { JQCall(program: $0, document: document, change: change, match: match, now: now) }
    }
}
