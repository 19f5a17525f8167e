internal import CZlib

/// Decompresses a text as it arrives: one gzip text, or several one after the other. Uses bounded memory, apart from
/// its output.
package struct GzipReader: ~Copyable {
    private static let pieceSize = 64 << 10
    private static let headerSize = 10
    /// zlib keeps the address: it must not move.
    private let stream: UnsafeMutablePointer<z_stream>
    private var piece = [UInt8](repeating: 0, count: Self.pieceSize)
    private var left: Int
    /// How many bytes of the current gzip text have been read; 0 between two texts.
    private var readOfMember = 0
    private var hasBegun = false
    private var bytesOut = 0

    /// - Parameter limit: The longest total output to accept, in bytes.
    package init(limit: Int = .max) {
        left = limit
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        let code = inflateInit2_(stream, 15 + 16, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
        // Like any allocation, it fails only if memory runs out.
        precondition(code == Z_OK, "zlib is out of memory")
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Appends the decompressed bytes of `compressed`, the next piece, which may have any size.
    ///
    /// - Throws: ``GzipError``; output before the error has been appended.
    package mutating func read(_ compressed: ArraySlice<UInt8>, to text: inout [UInt8]) throws(GzipError) {
        var rest = compressed
        while !rest.isEmpty {
            // zlib counts in 32 bits.
            rest = rest.dropFirst(try inflate(rest.prefix(1 << 30), to: &text))
        }
    }

    /// Checks that the text is complete. Call it after the last piece.
    ///
    /// - Throws: ``GzipError`` if the text is cut short.
    package func finish() throws(GzipError) {
        if !hasBegun { throw .cutHeader }
        guard readOfMember > 0 else { return }
        throw readOfMember <= Self.headerSize && bytesOut == 0 ? .cutHeader : .cut
    }

    /// Returns how many bytes of `compressed` were consumed, at most up to the end of one gzip text.
    private mutating func inflate(
        _ compressed: ArraySlice<UInt8>, to text: inout [UInt8]
    ) throws(GzipError) -> Int {
        hasBegun = true
        var taken = 0
        while true {
            let (code, read, written) = inflateOnce(compressed.dropFirst(taken))
            taken += read
            readOfMember += read
            bytesOut += written
            guard written <= left else { throw .tooLong }
            left -= written
            text.append(contentsOf: piece[..<written])
            switch code {
            case Z_STREAM_END:
                inflateReset(stream)
                readOfMember = 0
                return taken
            case Z_OK where written == piece.count || taken < compressed.count: continue
            case Z_OK, Z_BUF_ERROR: return taken
            default: throw readOfMember <= Self.headerSize && bytesOut == 0 ? .noHeader : .corrupt
            }
        }
    }

    private mutating func inflateOnce(_ compressed: ArraySlice<UInt8>) -> (code: Int32, read: Int, written: Int) {
        compressed.withUnsafeBufferPointer { compressed in
            piece.withUnsafeMutableBufferPointer { piece in
                stream.pointee.next_in = compressed.baseAddress.map { UnsafeMutablePointer(mutating: $0) }
                stream.pointee.avail_in = UInt32(compressed.count)
                stream.pointee.next_out = piece.baseAddress
                stream.pointee.avail_out = UInt32(piece.count)
                let code = CZlib.inflate(stream, Z_NO_FLUSH)
                return (
                    code, compressed.count - Int(stream.pointee.avail_in), piece.count - Int(stream.pointee.avail_out)
                )
            }
        }
    }
}
