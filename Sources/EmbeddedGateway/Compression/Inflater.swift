/// Unpacks a deflated text.
///
/// - Note: Source: RFC 1951, section 3.2.
struct Inflater {
    private let packed: [UInt8]
    private let limit: Int
    private var at: Int
    /// Bits that are read but not used, the lowest first.
    private var bits: UInt32 = 0
    private var bitCount = 0
    private var result: [UInt8] = []

    init(_ packed: [UInt8], from start: Int, limit: Int) {
        self.packed = packed
        self.limit = limit
        at = start
    }

    /// Behind the last byte that was used.
    var end: Int { at }

    mutating func run() throws(Gzip.Fault) -> [UInt8] {
        var isLast = false
        while !isLast {
            isLast = try take(1) == 1
            switch try take(2) {
            case 0: try copyStored()
            case 1: try unpack(.fixedLengths, .fixedDistances)
            case 2:
                let (lengths, distances) = try readCodes()
                try unpack(lengths, distances)
            default: throw .corrupt
            }
        }
        return result
    }

    private mutating func take(_ count: Int) throws(Gzip.Fault) -> Int {
        while bitCount < count {
            guard at < packed.count else { throw .cut }
            bits |= UInt32(packed[at]) << UInt32(bitCount)
            at += 1
            bitCount += 8
        }
        let value = bits & (1 << UInt32(count) - 1)
        bits >>= UInt32(count)
        bitCount -= count
        return Int(value)
    }

    private mutating func copyStored() throws(Gzip.Fault) {
        (bits, bitCount) = (0, 0)
        guard at + 4 <= packed.count else { throw .cut }
        let length = Int(packed[at]) | Int(packed[at + 1]) << 8
        guard length ^ 0xFFFF == Int(packed[at + 2]) | Int(packed[at + 3]) << 8 else { throw .corrupt }
        at += 4
        guard at + length <= packed.count else { throw .cut }
        guard result.count + length <= limit else { throw .tooLong }
        result += packed[at..<at + length]
        at += length
    }

    private mutating func symbol(_ code: HuffmanCode) throws(Gzip.Fault) -> Int {
        var word = 0
        var first = 0
        var index = 0
        for length in 1..<code.counts.count {
            word |= try take(1)
            let count = code.counts[length]
            if word - count < first { return code.symbols[index + word - first] }
            index += count
            first = (first + count) << 1
            word <<= 1
        }
        throw .corrupt
    }

    private mutating func unpack(_ lengths: HuffmanCode, _ distances: HuffmanCode) throws(Gzip.Fault) {
        while true {
            let symbol = try symbol(lengths)
            if symbol == 256 { return }
            if symbol < 256 {
                guard result.count < limit else { throw .tooLong }
                result.append(UInt8(truncatingIfNeeded: symbol))
            } else {
                try copy(lengthSymbol: symbol - 257, distances)
            }
        }
    }

    private mutating func copy(lengthSymbol: Int, _ distances: HuffmanCode) throws(Gzip.Fault) {
        guard lengthSymbol < DeflateTables.lengths.count else { throw .corrupt }
        let length = try DeflateTables.lengths[lengthSymbol] + take(DeflateTables.lengthBits[lengthSymbol])
        let symbol = try symbol(distances)
        guard symbol < DeflateTables.distances.count else { throw .corrupt }
        let distance = try DeflateTables.distances[symbol] + take(DeflateTables.distanceBits[symbol])
        guard distance <= result.count else { throw .corrupt }
        guard result.count + length <= limit else { throw .tooLong }
        for _ in 0..<length { result.append(result[result.count - distance]) }
    }

    /// The codes of a block that brings its own.
    private mutating func readCodes() throws(Gzip.Fault) -> (HuffmanCode, HuffmanCode) {
        let lengthCount = try take(5) + 257
        let distanceCount = try take(5) + 1
        let codeCount = try take(4) + 4
        guard lengthCount <= 286, distanceCount <= 30 else { throw .corrupt }
        var codeLengths = [Int](repeating: 0, count: 19)
        for index in 0..<codeCount { codeLengths[DeflateTables.codeOrder[index]] = try take(3) }
        guard let code = HuffmanCode(codeLengths) else { throw .corrupt }
        var lengths: [Int] = []
        while lengths.count < lengthCount + distanceCount { try readLengths(code, &lengths) }
        guard lengths.count == lengthCount + distanceCount, lengths[256] != 0,
            let first = HuffmanCode(Array(lengths[..<lengthCount])),
            let second = HuffmanCode(Array(lengths[lengthCount...]))
        else { throw .corrupt }
        return (first, second)
    }

    private mutating func readLengths(_ code: HuffmanCode, _ lengths: inout [Int]) throws(Gzip.Fault) {
        let symbol = try symbol(code)
        switch symbol {
        case 16:
            guard let last = lengths.last else { throw .corrupt }
            lengths += [Int](repeating: last, count: try take(2) + 3)
        case 17: lengths += [Int](repeating: 0, count: try take(3) + 3)
        case 18: lengths += [Int](repeating: 0, count: try take(7) + 11)
        default: lengths.append(symbol)
        }
    }
}

/// A canonical Huffman code: how many words there are of each length, and what they stand for.
struct HuffmanCode {
    let counts: [Int]
    let symbols: [Int]

    /// Nil if there are more words than lengths allow.
    ///
    /// - Parameter lengths: Of each symbol's word in bits, up to 15; 0 for a symbol that does not occur.
    init?(_ lengths: [Int]) {
        var counts = [Int](repeating: 0, count: 16)
        for length in lengths { counts[length] += 1 }
        counts[0] = 0
        var left = 1
        for count in counts.dropFirst() {
            left = left << 1 - count
            guard left >= 0 else { return nil }
        }
        var offsets = [Int](repeating: 0, count: 17)
        for length in 1...15 { offsets[length + 1] = offsets[length] + counts[length] }
        var symbols = [Int](repeating: 0, count: offsets[16])
        for (symbol, length) in lengths.enumerated() where length > 0 {
            symbols[offsets[length]] = symbol
            offsets[length] += 1
        }
        self.counts = counts
        self.symbols = symbols
    }

    private init(fixed lengths: [Int]) { self = HuffmanCode(lengths) ?? HuffmanCode() }

    private init() {
        counts = []
        symbols = []
    }

    static let fixedLengths = HuffmanCode(
        fixed: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    static let fixedDistances = HuffmanCode(fixed: [Int](repeating: 5, count: 30))
}
