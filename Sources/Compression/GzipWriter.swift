internal import CZlib

/// Packs a text while it is made. Bounded memory: some 270 KiB, whatever the text.
package struct GzipWriter: ~Copyable {
    private static let pieceSize = 32 << 10
    /// zlib keeps the address: it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var piece = [UInt8](repeating: 0, count: Self.pieceSize)

    /// - Parameter level: 1 (fast) to 9 (small).
    package init(level: Int32 = 6) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15 bits of window; 16 more mean the gzip format.
        let code = deflateInit2_(
            stream, min(max(level, 1), 9), Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        // Only out of memory can make it fail, as any allocation.
        precondition(code == Z_OK, "zlib has no memory")
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// - Parameter isFlushed: Whether all that was written so far can be unpacked from what is in `packed` then.
    package mutating func write(_ text: [UInt8], to packed: inout [UInt8], isFlushed: Bool = false) {
        text.withUnsafeBufferPointer { write($0, to: &packed, mode: isFlushed ? Z_SYNC_FLUSH : Z_NO_FLUSH) }
    }

    package mutating func write(_ text: ArraySlice<UInt8>, to packed: inout [UInt8]) {
        text.withUnsafeBufferPointer { write($0, to: &packed, mode: Z_NO_FLUSH) }
    }

    /// Ends the text; what is written next begins another, which readers take for the rest of the first.
    package mutating func finish(to packed: inout [UInt8]) {
        write(UnsafeBufferPointer(start: nil, count: 0), to: &packed, mode: Z_FINISH)
        deflateReset(stream)
    }

    private mutating func write(_ text: UnsafeBufferPointer<UInt8>, to packed: inout [UInt8], mode: Int32) {
        var rest = text
        repeat {
            // zlib counts in 32 bits.
            let count = min(rest.count, 1 << 30)
            stream.pointee.next_in = rest.baseAddress.map { UnsafeMutablePointer(mutating: $0) }
            stream.pointee.avail_in = UInt32(count)
            rest = UnsafeBufferPointer(rebasing: rest[count...])
            deflate(to: &packed, mode: rest.isEmpty ? mode : Z_NO_FLUSH)
        } while !rest.isEmpty
    }

    private mutating func deflate(to packed: inout [UInt8], mode: Int32) {
        var isFull = true
        while isFull {
            let written = piece.withUnsafeMutableBufferPointer { piece in
                stream.pointee.next_out = piece.baseAddress
                stream.pointee.avail_out = UInt32(piece.count)
                _ = CZlib.deflate(stream, mode)
                return piece.count - Int(stream.pointee.avail_out)
            }
            packed.append(contentsOf: piece[..<written])
            isFull = written == piece.count
        }
    }
}
