internal import Compression
internal import GatewayClient

/// The bytes of a gzipped attachment, decompressed as they arrive.
///
/// Memory use stays at a few megabytes, whatever the compression ratio.
struct DecompressedAttachment: ~Copyable {
    /// Compressed bytes per step: up to a thousand times as many may come out.
    private static let stretchSize = 4 << 10
    private static let pieceSize = 64 << 10

    private var answer: AttachmentAnswer
    private var reader = GzipReader()
    private var rest: ArraySlice<UInt8> = []
    /// Compressed bytes received so far.
    private(set) var compressedByteCount = 0
    /// Digest of the compressed bytes received so far.
    private(set) var compressedDigest = AttachmentDigest.Calculation.ofCompressedBytes

    init(_ answer: AttachmentAnswer) { self.answer = answer }

    /// The next bytes; nil at the end.
    ///
    /// - Throws: `GatewayError`, as ``AttachmentAnswer``; `.digestMismatch` if the bytes are not complete, valid gzip.
    mutating func next() async throws(GatewayError) -> [UInt8]? {
        var text: [UInt8] = []
        while text.count < Self.pieceSize {
            if rest.isEmpty {
                guard let bytes = try await answer.next() else { return try end(text) }
                rest = bytes[...]
                compressedByteCount += bytes.count
                compressedDigest.update(bytes)
            }
            let stretch = rest.prefix(Self.stretchSize)
            do { try reader.read(stretch, to: &text) } catch { throw Self.error(error) }
            rest = rest.dropFirst(stretch.count)
        }
        return text
    }

    private func end(_ text: [UInt8]) throws(GatewayError) -> [UInt8]? {
        guard text.isEmpty else { return text }
        do { try reader.finish() } catch { throw Self.error(error) }
        return nil
    }

    private static func error(_ error: GzipError) -> GatewayError {
        GatewayError(.digestMismatch, "an attachment is not compressed as its encoding says: \(error)")
    }
}
