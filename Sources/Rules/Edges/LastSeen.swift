internal import LosslessJSON

/// The state of a document that a rule with `changed`, `enter` or `leave` last saw.
///
/// ``encoded`` takes 1 byte, 8 more for each member in `changed`, 8 more once an edge has fired, and the remembered
/// values.
package struct LastSeen: Sendable, Equatable {
    /// Whether the document matched the rule.
    var matched = false
    /// The digests of the members in `changed`, in their order.
    var digests: [MemberDigest] = []
    /// The values of the members in `changed` and `remember`, as an object. Empty if the rule needs none.
    var values: [UInt8] = []
    /// Part of the key of the next edge. Changes with each edge that has fired.
    var edge: UInt64 = 0
    /// Whether a decision that wrote the document left it in this state. Only for rules with ``Rule/mayMistakeOwnWrites``.
    var isWritten = false
}

extension LastSeen {
    /// Whether another state is equal, even if a gateway has formatted the values differently. Ignores ``isWritten``.
    package func isSame(as other: LastSeen?) -> Bool {
        guard let other, matched == other.matched, digests == other.digests, edge == other.edge else { return false }
        if values == other.values { return true }
        let digests = [values, other.values].map { values in (try? JSONText(values)).map { MemberDigest($0.root) } }
        return digests[0] != nil && digests[0] == digests[1]
    }
}

// MARK: - In the state

extension LastSeen {
    private static let matchedFlag: UInt8 = 1
    private static let edgeFlag: UInt8 = 2
    private static let writtenFlag: UInt8 = 4

    /// The bytes that ``init(encoded:memberCount:)`` reads.
    package var encoded: [UInt8] {
        let flags = (matched ? Self.matchedFlag : 0) | (isWritten ? Self.writtenFlag : 0)
        var bytes = [flags | (edge == 0 ? 0 : Self.edgeFlag)]
        func append(_ number: UInt64) { withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) } }
        if edge != 0 { append(edge) }
        for digest in digests { append(digest.bits) }
        return bytes + values
    }

    /// Nil if the bytes are not a record of a rule with this number of members in `changed`.
    package init?(encoded: [UInt8], memberCount: Int) {
        var bytes = encoded[...]
        let known = Self.matchedFlag | Self.edgeFlag | Self.writtenFlag
        guard let flags = bytes.popFirst(), flags <= known else { return nil }
        func number() -> UInt64? {
            guard bytes.count >= 8 else { return nil }
            defer { bytes.removeFirst(8) }
            return bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        matched = flags & Self.matchedFlag != 0
        isWritten = flags & Self.writtenFlag != 0
        if flags & Self.edgeFlag != 0 {
            guard let number = number() else { return nil }
            edge = number
        }
        for _ in 0..<memberCount {
            guard let number = number() else { return nil }
            digests.append(MemberDigest(bits: number))
        }
        values = Array(bytes)
    }
}

/// The state of the decided document that a rule saw.
package struct SeenByRule: Sendable, Equatable {
    /// The rule's name.
    package let rule: String
    package let lastSeen: LastSeen
}
