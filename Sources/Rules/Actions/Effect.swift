package import LosslessJSON

/// Something that a decision requests in addition to the write of the document itself.
package protocol Effect: Sendable {
    static var kind: EffectKind { get }
    /// The step that requests it.
    var origin: EffectOrigin { get }

    /// The memory that it takes, beyond the document, in bytes.
    var byteCount: Int { get }

    /// Whether the effect is dropped because its rule fired again in the same decision.
    ///
    /// - Parameter later: The rule's newer effects.
    func isDropped(for later: Effects) -> Bool

    /// Writes the members that describe the effect in previews and tests, without the rule and without secrets.
    func write(to writer: inout JSONWriter)
}

extension Effect {
    package var byteCount: Int { 0 }
}

/// The kinds of effects, in the order in which they are carried out and shown.
package enum EffectKind: Int, Sendable {
    case resolve, put, related, outside
}

/// The effects of a decision, ordered by kind, then by when a rule first requested them.
package struct Effects: Sendable {
    package private(set) var all: [any Effect] = []
    /// The memory that all take, in bytes.
    package private(set) var byteCount = 0

    package var isEmpty: Bool { all.isEmpty }

    /// The effects of one type, in order.
    package func of<E: Effect>(_ type: E.Type) -> [E] { all.isEmpty ? [] : all.compactMap { $0 as? E } }

    mutating func append(_ effect: some Effect) {
        let kind = type(of: effect).kind.rawValue
        let place = all.lastIndex { type(of: $0).kind.rawValue <= kind }.map { $0 + 1 } ?? 0
        all.insert(effect, at: place)
        byteCount += effect.byteCount
    }

    /// Adds a rule's effects, in place of its earlier ones.
    mutating func replace(rule: Int, by later: Effects) {
        all.removeAll { effect in
            guard effect.origin.rule == rule, effect.isDropped(for: later) else { return false }
            byteCount -= effect.byteCount
            return true
        }
        for effect in later.all { append(effect) }
    }
}
