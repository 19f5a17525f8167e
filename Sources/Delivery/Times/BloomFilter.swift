/// Tells whether a document may have been inserted. There are no false negatives and few false positives.
///
/// A Bloom filter of 1 MiB, allocated with the first document. With 500,000 documents, one in 500 of the others is a
/// false positive.
struct BloomFilter {
    private static let bitCount = 1 << 23
    private static let hashes = 4

    private var words: [UInt64] = []

    /// Empty.
    init() {}

    var isEmpty: Bool { words.isEmpty }

    mutating func insert(_ hash: Int) {
        if words.isEmpty { words = [UInt64](repeating: 0, count: Self.bitCount / 64) }
        for bit in Self.bits(of: hash) { words[bit >> 6] |= 1 << UInt64(bit & 63) }
    }

    func mayContain(_ hash: Int) -> Bool {
        !words.isEmpty && Self.bits(of: hash).allSatisfy { words[$0 >> 6] >> UInt64($0 & 63) & 1 == 1 }
    }

    /// The two halves of the hash, combined (Kirsch and Mitzenmacher).
    private static func bits(of hash: Int) -> some Sequence<Int> {
        let (low, high) = (hash & 0xFFFF_FFFF, hash >> 32 & 0xFFFF_FFFF | 1)
        return (0..<hashes).lazy.map { (low &+ $0 &* high) & (bitCount - 1) }
    }
}
