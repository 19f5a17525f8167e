internal import CZlib

/// Compresses a text whose pieces may be far apart in time. Between two pieces it holds a few bytes, while
/// ``GzipWriter`` holds about 270 KiB: thousands of answers may wait concurrently.
///
/// Each piece can be decompressed as soon as it has arrived. Pieces are compressed separately, so very short ones
/// become longer.
///
/// - Note: Source: RFC 1952, section 2.3; RFC 1951, section 3.2.3: a flush does not write a final block, so another may
///   follow.
package struct GzipPieces: Sendable {
    private static let headerSize = 10
    private static let emptyFinalBlock: [UInt8] = [3, 0]
    private var checksum: UInt = 0
    private var byteCount: UInt32 = 0
    private var hasBegun = false

    /// Begins a text; its header comes with the first piece.
    package init() {}

    /// Returns the next bytes of the gzip text.
    package mutating func compress(_ piece: [UInt8]) -> [UInt8] {
        var writer = GzipWriter()
        var compressed: [UInt8] = []
        writer.write(piece, to: &compressed, isFlushed: true)
        checksum = piece.withUnsafeBufferPointer { crc32_z(checksum, $0.baseAddress, $0.count) }
        byteCount &+= UInt32(truncatingIfNeeded: piece.count)
        if hasBegun { compressed.removeFirst(Self.headerSize) }
        hasBegun = true
        return compressed
    }

    /// Returns the last bytes of the gzip text. Call once.
    package mutating func finish() -> [UInt8] {
        var compressed = hasBegun ? [] : compress([])
        compressed += Self.emptyFinalBlock
        for number in [UInt32(truncatingIfNeeded: checksum), byteCount] {
            withUnsafeBytes(of: number.littleEndian) { compressed += $0 }
        }
        return compressed
    }
}
