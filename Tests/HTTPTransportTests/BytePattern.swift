import Glibc

/// Bytes that identify their position: a repeated block of a prime length.
struct BytePattern: Sendable {
    private static let length = 65_521
    /// Twice the block, so that a whole block can be taken from any position.
    private let doubled: [UInt8]

    init() {
        var state: UInt32 = 1
        let block = (0..<Self.length).map { _ in
            state = state &* 1_664_525 &+ 1_013_904_223
            return UInt8(state >> 24)
        }
        doubled = block + block
    }

    /// The first `count` bytes.
    func bytes(_ count: Int) -> [UInt8] {
        var all: [UInt8] = []
        all.reserveCapacity(count + Self.length)
        while all.count < count { all += doubled[..<Self.length] }
        return Array(all[..<count])
    }

    /// Whether `bytes` are the bytes at `place`.
    func matches(_ bytes: [UInt8], at place: Int) -> Bool {
        var checked = 0
        while checked < bytes.count {
            let start = (place + checked) % Self.length
            let part = min(bytes.count - checked, Self.length)
            let isSame = bytes.withUnsafeBytes { bytes in
                doubled.withUnsafeBytes { memcmp(bytes.baseAddress! + checked, $0.baseAddress! + start, part) == 0 }
            }
            guard isSame else { return false }
            checked += part
        }
        return true
    }
}
