internal import CZlib

/// Packs a text whose pieces are far apart in time. Holds some bytes between two of them, where ``GzipWriter`` holds
/// some 300 KiB: thousands of answers may wait at once.
///
/// Each piece can be unpacked when it has come. Each is packed for itself: very short ones come out longer than they
/// went in.
///
/// - Note: Source: RFC 1952, section 2.3; RFC 1951, section 3.2.3: what a flush ends is no final block, another may
///   follow.
package struct GzipPieces: Sendable {
    private static let headerSize = 10
    private static let emptyFinalBlock: [UInt8] = [3, 0]
    private var checksum: UInt = 0
    private var byteCount: UInt32 = 0
    private var hasBegun = false

    package init() {}

    /// The next bytes of the packed text.
    package mutating func pack(_ piece: [UInt8]) -> [UInt8] {
        var writer = GzipWriter()
        var packed: [UInt8] = []
        writer.write(piece, to: &packed, isFlushed: true)
        checksum = piece.withUnsafeBufferPointer { crc32_z(checksum, $0.baseAddress, $0.count) }
        byteCount &+= UInt32(truncatingIfNeeded: piece.count)
        if hasBegun { packed.removeFirst(Self.headerSize) }
        hasBegun = true
        return packed
    }

    /// Its last bytes. Call once.
    package mutating func finish() -> [UInt8] {
        var packed = hasBegun ? [] : pack([])
        packed += Self.emptyFinalBlock
        for number in [UInt32(truncatingIfNeeded: checksum), byteCount] {
            withUnsafeBytes(of: number.littleEndian) { packed += $0 }
        }
        return packed
    }
}
