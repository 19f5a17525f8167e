internal import LosslessJSON

/// The rules whose `put` led to a document, one after the other: the first one's document made the second one fire, and
/// so on.
package struct RuleChain: Hashable, Sendable {
    /// A `put` that would be further away from a change that somebody made is not made.
    package static let longest = 10

    package let rules: [String]

    package init(_ rules: [String] = []) { self.rules = rules }

    package func followed(by rule: String) -> RuleChain { RuleChain(rules + [rule]) }

    package var isTooLong: Bool { rules.count > Self.longest }

    /// Up to where it begins again: `rule chain: a → b → a`.
    package var reason: String {
        var seen: Set<String> = []
        var shown: [String] = []
        for rule in rules {
            shown.append(rule)
            guard seen.insert(rule).inserted else { break }
        }
        return "rule chain: " + shown.joined(separator: " → ")
    }

    // MARK: - As the ledger keeps it

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.array { writer in for rule in rules { writer.string(rule) } }
        return writer.bytes
    }

    init(json: [UInt8]) { rules = SmallJSON(json)?.elements?.compactMap(\.string) ?? [] }
}
