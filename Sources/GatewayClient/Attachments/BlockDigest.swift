import Glibc

/// SHA-1 or MD5 of bytes that come piece by piece.
///
/// For the digests that gateways give their attachments, against damage on the way; neither protects against malice.
///
/// - Note: Source: RFC 3174 (SHA-1), RFC 1321 (MD5).
struct BlockDigest {
    enum Algorithm: String, Sendable {
        case sha1, md5
    }

    private let algorithm: Algorithm
    private var state: [UInt32]
    private var rest: [UInt8] = []
    private var count: UInt64 = 0

    init(_ algorithm: Algorithm) {
        self.algorithm = algorithm
        state = [0x6745_2301, 0xEFCD_AB89, 0x98BA_DCFE, 0x1032_5476] + (algorithm == .sha1 ? [0xC3D2_E1F0] : [])
    }

    mutating func update(_ bytes: [UInt8]) {
        count &+= UInt64(bytes.count)
        let all = rest.isEmpty ? bytes : rest + bytes
        let whole = all.count / 64 * 64
        for start in stride(from: 0, to: whole, by: 64) { mix(all[start..<(start + 64)]) }
        rest = Array(all[whole...])
    }

    /// The digest of all that came. Nothing may come afterwards.
    mutating func finish() -> [UInt8] {
        let bits = count &* 8
        let padding = (119 - rest.count % 64) % 64
        let length = (0..<8).map { UInt8(truncatingIfNeeded: bits >> (8 * ($0 as UInt64))) }
        update([0x80] + [UInt8](repeating: 0, count: padding) + (algorithm == .sha1 ? length.reversed() : length))
        return state.flatMap { word in
            let bytes = (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * ($0 as UInt32))) }
            return algorithm == .sha1 ? bytes.reversed() : bytes
        }
    }

    private mutating func mix(_ block: ArraySlice<UInt8>) {
        var words: [UInt32] = []
        words.reserveCapacity(80)
        for start in stride(from: block.startIndex, to: block.endIndex, by: 4) {
            let word = block[start..<(start + 4)].reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
            words.append(algorithm == .sha1 ? word : word.byteSwapped)
        }
        let mixed = algorithm == .sha1 ? sha1(&words) : md5(words)
        for index in state.indices { state[index] &+= mixed[index] }
    }

    private func sha1(_ words: inout [UInt32]) -> [UInt32] {
        for index in 16..<80 {
            words.append((words[index - 3] ^ words[index - 8] ^ words[index - 14] ^ words[index - 16]).rotated(by: 1))
        }
        var (a, b, c, d, e) = (state[0], state[1], state[2], state[3], state[4])
        for index in 0..<80 {
            let (choice, constant): (UInt32, UInt32) =
                switch index / 20 {
                case 0: (b & c | ~b & d, 0x5A82_7999)
                case 1: (b ^ c ^ d, 0x6ED9_EBA1)
                case 2: (b & c | b & d | c & d, 0x8F1B_BCDC)
                default: (b ^ c ^ d, 0xCA62_C1D6)
                }
            let next = a.rotated(by: 5) &+ choice &+ e &+ constant &+ words[index]
            (a, b, c, d, e) = (next, a, b.rotated(by: 30), c, d)
        }
        return [a, b, c, d, e]
    }

    private static let sines = (1...64).map { UInt32(abs(sin(Double($0))) * 4_294_967_296) }
    private static let turns: [[UInt32]] = [[7, 12, 17, 22], [5, 9, 14, 20], [4, 11, 16, 23], [6, 10, 15, 21]]

    private func md5(_ words: [UInt32]) -> [UInt32] {
        var (a, b, c, d) = (state[0], state[1], state[2], state[3])
        for index in 0..<64 {
            let (choice, word): (UInt32, Int) =
                switch index / 16 {
                case 0: (b & c | ~b & d, index)
                case 1: (d & b | ~d & c, 5 * index + 1)
                case 2: (b ^ c ^ d, 3 * index + 5)
                default: (c ^ (b | ~d), 7 * index)
                }
            let sum = a &+ choice &+ Self.sines[index] &+ words[word % 16]
            (a, b, c, d) = (d, b &+ sum.rotated(by: Self.turns[index / 16][index % 4]), b, c)
        }
        return [a, b, c, d]
    }
}

extension UInt32 {
    fileprivate func rotated(by bits: UInt32) -> UInt32 { self << bits | self >> (32 - bits) }
}
