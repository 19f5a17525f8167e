/// A set of rule indexes that is reused for every document.
struct RuleBits: Sendable {
    private var words: [UInt64]

    /// An empty set for indexes below `count`.
    init(count: Int) { words = [UInt64](repeating: 0, count: (count + 63) / 64) }

    /// - Parameter members: For each index, whether it is in the set.
    init(_ members: [Bool]) {
        self.init(count: members.count)
        for (rule, isMember) in members.enumerated() where isMember { insert(Int32(rule)) }
    }

    mutating func insert(_ rule: Int32) { words[Int(rule) >> 6] |= 1 << (UInt64(rule) & 63) }

    /// Copies a set with the same count.
    mutating func replace(with other: RuleBits) {
        for word in words.indices { words[word] = other.words[word] }
    }

    /// - Returns: Whether any index is left.
    @discardableResult
    mutating func formIntersection(_ other: RuleBits) -> Bool {
        var left: UInt64 = 0
        for word in words.indices {
            words[word] &= other.words[word]
            left |= words[word]
        }
        return left != 0
    }

    func contains(_ rule: Int) -> Bool { words[rule >> 6] & (1 << (UInt64(rule) & 63)) != 0 }

    /// The lowest index that is at least `start`. Nil if there is none.
    func next(from start: Int) -> Int? {
        var word = start >> 6
        guard word < words.count else { return nil }
        var bits = words[word] & (~0 << (UInt64(start) & 63))
        while bits == 0 {
            word += 1
            guard word < words.count else { return nil }
            bits = words[word]
        }
        return word << 6 + bits.trailingZeroBitCount
    }
}
