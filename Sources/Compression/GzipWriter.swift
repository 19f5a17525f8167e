internal import CZlib

/// Compresses a text as it is produced. Uses about 270 KiB, regardless of the length of the text.
package struct GzipWriter: ~Copyable {
    /// zlib's own default.
    package static let defaultLevel: Int32 = 6
    private static let pieceSize = 32 << 10
    /// zlib keeps the address: it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var piece = [UInt8](repeating: 0, count: Self.pieceSize)

    /// - Parameter level: 1 (fast) to 9 (small); other values are moved into this range.
    package init(level: Int32 = Self.defaultLevel) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        // 15 bits of window; 16 more mean the gzip format.
        let code = deflateInit2_(
            stream, min(max(level, 1), 9), Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
            Int32(MemoryLayout<z_stream>.size))
        // Like any allocation, it fails only if memory runs out.
        precondition(code == Z_OK, "zlib is out of memory")
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// - Parameter isFlushed: Whether everything written so far can be decompressed afterwards; makes the output
    ///   longer.
    package mutating func write(_ text: [UInt8], to compressed: inout [UInt8], isFlushed: Bool = false) {
        text.withUnsafeBufferPointer { write($0, to: &compressed, mode: isFlushed ? Z_SYNC_FLUSH : Z_NO_FLUSH) }
    }

    /// Appends the output that zlib has ready, often nothing; the rest follows in later calls.
    package mutating func write(_ text: ArraySlice<UInt8>, to compressed: inout [UInt8]) {
        text.withUnsafeBufferPointer { write($0, to: &compressed, mode: Z_NO_FLUSH) }
    }

    /// Ends the text. Later writes begin another gzip text, which readers treat as a continuation.
    package mutating func finish(to compressed: inout [UInt8]) {
        write(UnsafeBufferPointer(start: nil, count: 0), to: &compressed, mode: Z_FINISH)
        deflateReset(stream)
    }

    private mutating func write(_ text: UnsafeBufferPointer<UInt8>, to compressed: inout [UInt8], mode: Int32) {
        var rest = text
        repeat {
            // zlib counts in 32 bits.
            let count = min(rest.count, 1 << 30)
            stream.pointee.next_in = rest.baseAddress.map { UnsafeMutablePointer(mutating: $0) }
            stream.pointee.avail_in = UInt32(count)
            rest = UnsafeBufferPointer(rebasing: rest[count...])
            deflate(to: &compressed, mode: rest.isEmpty ? mode : Z_NO_FLUSH)
        } while !rest.isEmpty
    }

    private mutating func deflate(to compressed: inout [UInt8], mode: Int32) {
        var isFull = true
        while isFull {
            let written = piece.withUnsafeMutableBufferPointer { piece in
                stream.pointee.next_out = piece.baseAddress
                stream.pointee.avail_out = UInt32(piece.count)
                _ = CZlib.deflate(stream, mode)
                return piece.count - Int(stream.pointee.avail_out)
            }
            compressed.append(contentsOf: piece[..<written])
            isFull = written == piece.count
        }
    }
}
