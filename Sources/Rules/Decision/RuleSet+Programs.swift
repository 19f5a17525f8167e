internal import JQ
internal import LosslessJSON

extension RuleSet {
    /// What has to be asked of jq for a rule that is at work on a document.
    ///
    /// - Parameters:
    ///   - document: What the programs see.
    ///   - matched: The document that the rule's selectors held for.
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
