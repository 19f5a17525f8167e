internal import Encodings
package import LosslessJSON

/// A rule that compares documents with the states that it last saw, as recorded in the bot's state.
package struct ComparingRule: Sendable, Hashable {
    package let name: String
    /// Changes if an edit of the selectors, `if`, `on`, `changed` or `remember` gives the remembered states another
    /// meaning. The rule then forgets all documents.
    package let fingerprint: String
    /// The number of its members in `changed`, for ``LastSeen/init(encoded:memberCount:)``.
    package let memberCount: Int
    /// Whether it must see changes of documents that it remembers, even if they no longer match any rule.
    package let tracksMatches: Bool

    init?(_ rule: Rule) {
        guard let edges = rule.edges else { return nil }
        name = rule.name
        memberCount = edges.changed.count
        tracksMatches = edges.tracksMatches
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("on", integer: rule.on.rawValue)
            for name in ["when", "unless", "if", "changed"] {
                if let node = rule.definition.source.member(name) { writer.member(name, raw: node.json) }
            }
            writer.name("remember")
            writer.array { writer in for name in edges.rememberedNames { writer.string(name) } }
        }
        fingerprint = Digest.sha256.hex(writer.bytes)
    }
}

extension RuleSet {
    /// The rules with `changed`, `enter` or `leave`, paused or not, in order.
    package var comparing: [ComparingRule] { rules.compactMap(ComparingRule.init) }

    /// What these rules remember after they have seen a document, by the rule's name.
    package func lastSeen(of document: JSONText, now: Int) async -> [String: LastSeen] {
        guard !comparingRules.isEmpty else { return [:] }
        let isDeleted = document.root["_deleted"]?.bool == true
        let input = DecisionInput(document, isDeleted: isDeleted, onlyLearns: true)
        let seen = await makeDecider().decide(on: [input], now: now).first?.seen ?? []
        return Dictionary(seen.map { ($0.rule, $0.lastSeen) }) { first, _ in first }
    }

    /// A set with only the rules that compare.
    package func onlyComparing() -> RuleSet { RuleSet(rules.filter { $0.edges != nil }, of: self) }

    /// A set without the rules that compare, which apply only to the changes feed.
    package func withoutComparing() -> RuleSet {
        comparing.isEmpty ? self : RuleSet(rules.filter { $0.edges == nil }, of: self)
    }
}
