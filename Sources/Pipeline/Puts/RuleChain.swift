internal import LosslessJSON

/// The rules whose `put`s led to a document: the first rule's document made the second rule fire, and so on.
struct RuleChain: Hashable, Sendable {
    /// A longer chain is dead-lettered instead of written.
    static let longest = 10

    /// The names of the rules, the first one first; empty for a change made by somebody else.
    let rules: [String]

    /// Without rules: a change made by somebody else.
    init(_ rules: [String] = []) { self.rules = rules }

    /// The chain of a document that `rule` puts because of this one.
    func followed(by rule: String) -> RuleChain { RuleChain(rules + [rule]) }

    /// Whether it is longer than ``longest``.
    var isTooLong: Bool { rules.count > Self.longest }

    /// The reason of the dead letter, cut at the first repetition: `rule chain: a → b → a`.
    var reason: String {
        var seen: Set<String> = []
        var shown: [String] = []
        for rule in rules {
            shown.append(rule)
            guard seen.insert(rule).inserted else { break }
        }
        return "rule chain: " + shown.joined(separator: " → ")
    }

    // MARK: - In the ledger

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.array { writer in for rule in rules { writer.string(rule) } }
        return writer.bytes
    }

    init(json: [UInt8]) { rules = SmallJSON(json)?.elements?.compactMap(\.string) ?? [] }
}
