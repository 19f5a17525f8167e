/// Packs texts with the fixed code: fast and plain, and good enough for JSON, which repeats itself.
///
/// - Note: Source: RFC 1951, sections 3.2.3 to 3.2.6.
struct Deflater {
    private var packed: [UInt8] = []
    private var bits: UInt64 = 0
    private var bitCount = 0

    private static let shortestMatch = 4
    private static let longestMatch = 258
    private static let window = 32_768
    private static let hashBits = 14

    /// The end of a deflated text: a last block with nothing in it.
    static let lastBlock: [UInt8] = [3, 0]

    /// A block that ends at a byte: an empty stored block stands behind it.
    static func block(_ text: [UInt8]) -> [UInt8] {
        var deflater = Deflater()
        deflater.packed.reserveCapacity(text.count / 3 + 16)
        deflater.put(0b010, 3)
        deflater.putSymbols(text.span)
        deflater.putLiteral(256)
        deflater.put(0b000, 3)
        deflater.flush()
        return deflater.packed + [0, 0, 0xFF, 0xFF]
    }

    private mutating func putSymbols(_ text: Span<UInt8>) {
        var last = [Int32](repeating: -1, count: 1 << Self.hashBits)
        var at = 0
        while at < text.count {
            guard at + Self.shortestMatch <= text.count else {
                putLiteral(Int(text[at]))
                at += 1
                continue
            }
            let hash = Self.hash(text, at)
            let candidate = Int(last[hash])
            last[hash] = Int32(truncatingIfNeeded: at)
            let length = candidate >= 0 && at - candidate <= Self.window ? Self.match(text, candidate, at) : 0
            if length >= Self.shortestMatch {
                putMatch(length: length, distance: at - candidate)
                at += length
            } else {
                putLiteral(Int(text[at]))
                at += 1
            }
        }
    }

    private static func hash(_ text: Span<UInt8>, _ at: Int) -> Int {
        let word = (0..<shortestMatch).reduce(UInt32(0)) { $0 << 8 | UInt32(text[at + $1]) }
        return Int((word &* 2_654_435_761) >> UInt32(32 - hashBits))
    }

    private static func match(_ text: Span<UInt8>, _ earlier: Int, _ at: Int) -> Int {
        var length = 0
        let most = min(longestMatch, text.count - at)
        while length < most, text[earlier + length] == text[at + length] { length += 1 }
        return length
    }

    private mutating func putMatch(length: Int, distance: Int) {
        let lengthSymbol = Self.place(length, DeflateTables.lengths)
        putLiteral(257 + lengthSymbol)
        put(length - DeflateTables.lengths[lengthSymbol], DeflateTables.lengthBits[lengthSymbol])
        let distanceSymbol = Self.place(distance, DeflateTables.distances)
        putWord(distanceSymbol, 5)
        put(distance - DeflateTables.distances[distanceSymbol], DeflateTables.distanceBits[distanceSymbol])
    }

    /// The last place whose value is not above `value`.
    private static func place(_ value: Int, _ values: [Int]) -> Int {
        var low = 0
        var high = values.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if values[middle] <= value { low = middle } else { high = middle }
        }
        return low
    }

    /// A literal byte, the end of the block or a length, in the fixed code.
    private mutating func putLiteral(_ symbol: Int) {
        switch symbol {
        case ..<144: putWord(0x30 + symbol, 8)
        case ..<256: putWord(0x190 + symbol - 144, 9)
        case ..<280: putWord(symbol - 256, 7)
        default: putWord(0xC0 + symbol - 280, 8)
        }
    }

    /// Words of the code stand with their highest bit first.
    private mutating func putWord(_ word: Int, _ count: Int) {
        var reversed = 0
        for bit in 0..<count where word >> bit & 1 == 1 { reversed |= 1 << (count - 1 - bit) }
        put(reversed, count)
    }

    private mutating func put(_ value: Int, _ count: Int) {
        bits |= UInt64(value) << UInt64(bitCount)
        bitCount += count
        while bitCount >= 8 {
            packed.append(UInt8(truncatingIfNeeded: bits))
            bits >>= 8
            bitCount -= 8
        }
    }

    private mutating func flush() {
        if bitCount > 0 { packed.append(UInt8(truncatingIfNeeded: bits)) }
        (bits, bitCount) = (0, 0)
    }
}
