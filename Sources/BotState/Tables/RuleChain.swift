internal import Encodings
package import GatewayClient
internal import LosslessJSON

/// The rules that led from a change by another client to a revision: the document that the first rule wrote made the
/// second rule fire, and so on.
///
/// Several causes can combine in one document, such as a register or a total. Their depths are not added: the shortest
/// chain counts. A chain also knows the documents whose changes combined in its document, its *origins*. A rule may
/// write back to one of these documents, for example when a register answers a request. Then the answer continues the
/// chain of the requesting document, not the chain of the change that triggered the answer.
package struct RuleChain: Hashable, Sendable {
    /// A change with a longer chain is dead-lettered.
    package static let longest = 10
    /// How many origins are kept: the newest ones.
    static let originLimit = 64

    /// The names of the rules in order; empty for a change by another client.
    package let rules: [String]
    /// Identifies the document whose change began the chain; 0: unknown.
    let origin: UInt32
    /// The documents whose changes combined in this one, the newest last, including ``origin``.
    package let origins: [UInt32]
    /// Whether more changes combined in this document than ``origins`` can list.
    let hasMoreOrigins: Bool

    /// Without rules: a change by another client.
    package init(_ rules: [String] = []) { self.init(rules, origin: 0, origins: [], hasMoreOrigins: false) }

    private init(_ rules: [String], origin: UInt32, origins: [UInt32], hasMoreOrigins: Bool) {
        self.rules = rules
        self.origin = origin
        self.origins = origins
        self.hasMoreOrigins = hasMoreOrigins
    }

    /// The chain that a change by another client begins.
    ///
    /// - Parameter last: The newest chain that led to this document. Its origins are kept.
    package static func begun(by id: DocumentID, after last: RuleChain? = nil) -> RuleChain {
        let origin = identity(of: id)
        let (origins, hasMoreOrigins) = newest((last?.origins ?? []) + [origin])
        return RuleChain(
            [], origin: origin, origins: origins, hasMoreOrigins: hasMoreOrigins || last?.hasMoreOrigins == true)
    }

    /// The chain of a document that `rule` writes because of this one.
    package func followed(by rule: String) -> RuleChain {
        RuleChain(rules + [rule], origin: origin, origins: origins, hasMoreOrigins: hasMoreOrigins)
    }

    /// The chain of one write that all of these lead to: the shortest, with the origins of all.
    package static func shortest(of chains: [RuleChain]) -> RuleChain {
        guard let shortest = chains.min(by: { $0.rules.count < $1.rules.count }) else { return RuleChain() }
        let (origins, isCut) = newest(chains.flatMap(\.origins))
        return RuleChain(
            shortest.rules, origin: shortest.origin, origins: origins,
            hasMoreOrigins: isCut || chains.contains(where: \.hasMoreOrigins))
    }

    /// The chain of the revision with which this chain's last rule replaces another revision.
    ///
    /// - Parameter earlier: The chain of the replaced revision; nil: there is none.
    package func written(over earlier: RuleChain?) -> RuleChain {
        guard let earlier else { return RuleChain(rules, origin: origin, origins: origins, hasMoreOrigins: false) }
        let (origins, isCut) = Self.newest(earlier.origins + origins)
        let hasMoreOrigins = isCut || earlier.hasMoreOrigins
        let isAnswer = earlier.origin != origin && (self.hasMoreOrigins || self.origins.contains(earlier.origin))
        let count = isAnswer ? min(rules.count, earlier.rules.count + 1) : rules.count
        guard count < rules.count else {
            return RuleChain(rules, origin: origin, origins: origins, hasMoreOrigins: hasMoreOrigins)
        }
        return RuleChain(rules.suffix(count), origin: earlier.origin, origins: origins, hasMoreOrigins: hasMoreOrigins)
    }

    /// Whether it is longer than ``longest``.
    package var isTooLong: Bool { rules.count > Self.longest }

    /// The reason of the dead letter, cut at the first repetition: `rule chain: a → b → a`.
    package var reason: String {
        var seen: Set<String> = []
        var shown: [String] = []
        for rule in rules {
            shown.append(rule)
            guard seen.insert(rule).inserted else { break }
        }
        return "rule chain: " + shown.joined(separator: " → ")
    }

    private static func identity(of id: DocumentID) -> UInt32 {
        max(1, UInt32(truncatingIfNeeded: ContentFingerprint(bytes: Digest.sha256(Array(id.text.utf8))).words.high))
    }

    /// Each origin once, at its last position.
    private static func newest(_ origins: [UInt32]) -> (origins: [UInt32], isCut: Bool) {
        var seen: Set<UInt32> = []
        let all = Array(origins.reversed().filter { seen.insert($0).inserted }.reversed())
        return (all.suffix(originLimit), all.count > originLimit)
    }

    // MARK: - In the ledger

    /// Without origins: an array of names, as older versions wrote it.
    var json: [UInt8] {
        var names = JSONWriter()
        names.array { writer in for rule in rules { writer.string(rule) } }
        guard origin != 0 else { return names.bytes }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("rules", raw: names.bytes)
            writer.member("origin", integer: origin)
            writer.member("origins", string: origins.map { String($0, radix: 36) }.joined(separator: " "))
            if hasMoreOrigins { writer.member("crowded", bool: true) }
        }
        return writer.bytes
    }

    init(json: [UInt8]) {
        let value = SmallJSON(json)
        guard let origin = value?["origin"]?.integer else {
            self.init(value?.elements?.compactMap(\.string) ?? [])
            return
        }
        self.init(
            value?["rules"]?.elements?.compactMap(\.string) ?? [], origin: UInt32(truncatingIfNeeded: origin),
            origins: value?["origins"]?.string?.split(separator: " ").compactMap { UInt32($0, radix: 36) } ?? [],
            hasMoreOrigins: value?["crowded"] != nil)
    }
}
