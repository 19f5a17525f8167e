package import LosslessJSON

/// Something that a decision wants done beside the write of the document itself.
package protocol Effect: Sendable {
    static var kind: EffectKind { get }
    /// The step that wants it.
    var origin: EffectOrigin { get }

    /// Whether it is dropped because its rule has fired again in the same decision.
    ///
    /// - Parameter later: What the rule wants now.
    func isDropped(for later: Effects) -> Bool

    /// Writes the members that describe it to people and tests, without the rule and without secrets.
    func write(to writer: inout JSONWriter)
}

/// The kinds of effects, in the order in which they are carried out and shown.
package enum EffectKind: Int, Sendable {
    case resolve, put, related, outside
}

/// What a decision wants beside the write of the document: in the order of the kinds, and in each in the order in which
/// rules first wanted it.
package struct Effects: Sendable {
    package private(set) var all: [any Effect] = []

    package var isEmpty: Bool { all.isEmpty }

    /// Those of one type, in order.
    package func of<E: Effect>(_ type: E.Type) -> [E] { all.isEmpty ? [] : all.compactMap { $0 as? E } }

    mutating func append(_ effect: some Effect) {
        let kind = type(of: effect).kind.rawValue
        let place = all.lastIndex { type(of: $0).kind.rawValue <= kind }.map { $0 + 1 } ?? 0
        all.insert(effect, at: place)
    }

    /// Adds what a rule wants, in place of what it wanted before.
    mutating func replace(rule: Int, by later: Effects) {
        all.removeAll { $0.origin.rule == rule && $0.isDropped(for: later) }
        for effect in later.all { append(effect) }
    }
}
