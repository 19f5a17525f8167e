internal import Encodings
package import LosslessJSON

/// A rule that compares documents with what it saw of them last, as the state knows it.
package struct ComparingRule: Sendable, Hashable {
    package let name: String
    /// Differs if what the rule remembers of a document has another meaning: its selectors, `if`, `on`, `changed` or
    /// `remember` were edited. Then the rule starts anew.
    package let fingerprint: String
    /// The number of its members in `changed`, for ``LastSeen/init(encoded:memberCount:)``.
    package let memberCount: Int
    /// Whether it must look at documents that it knows even if they match nothing any longer.
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
    /// The rules with `changed`, `enter` or `leave`, in order.
    package var comparing: [ComparingRule] { comparingRules.compactMap { ComparingRule(rules[$0]) } }

    /// What these rules know after they have seen a document, by the rule's name.
    package func lastSeen(of document: JSONText, now: Int) async -> [String: LastSeen] {
        guard !comparingRules.isEmpty else { return [:] }
        let isDeleted = document.root["_deleted"]?.bool == true
        let input = DecisionInput(document, isDeleted: isDeleted, onlyLearns: true)
        let seen = await makeDecider().decide(on: [input], now: now).first?.seen ?? []
        return Dictionary(seen.map { ($0.rule, $0.lastSeen) }) { first, _ in first }
    }

    /// A set with only these rules.
    package func onlyComparing() -> RuleSet { RuleSet(rules.filter { $0.edges != nil }, of: self) }

    /// A set without these rules, which follow the feed.
    package func withoutComparing() -> RuleSet {
        comparingRules.isEmpty ? self : RuleSet(rules.filter { $0.edges == nil }, of: self)
    }
}
