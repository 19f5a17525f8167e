internal import Compression
internal import GatewayClient

/// The bytes of an attachment that comes as gzip, unpacked as they arrive.
///
/// Memory holds a few megabytes, however well it was packed.
struct UnpackedAttachment: ~Copyable {
    /// What is unpacked at once: a thousand times as much may come out.
    private static let stretchSize = 4 << 10
    private static let pieceSize = 64 << 10

    private var answer: AttachmentAnswer
    private var reader = GzipReader()
    private var rest: ArraySlice<UInt8> = []
    /// How many have arrived so far.
    private(set) var packedByteCount = 0
    /// Of those that have arrived.
    private(set) var packedDigest = AttachmentDigest.Calculation.ofPackedBytes

    init(_ answer: AttachmentAnswer) { self.answer = answer }

    /// The next bytes; nil at the end.
    ///
    /// - Throws: `GatewayError`: as ``AttachmentAnswer``, and `.digestMismatch` for what is no gzip, or not all of it.
    mutating func next() async throws(GatewayError) -> [UInt8]? {
        var text: [UInt8] = []
        while text.count < Self.pieceSize {
            if rest.isEmpty {
                guard let bytes = try await answer.next() else { return try end(text) }
                rest = bytes[...]
                packedByteCount += bytes.count
                packedDigest.update(bytes)
            }
            let stretch = rest.prefix(Self.stretchSize)
            do { try reader.read(stretch, to: &text) } catch { throw Self.fault(error) }
            rest = rest.dropFirst(stretch.count)
        }
        return text
    }

    private func end(_ text: [UInt8]) throws(GatewayError) -> [UInt8]? {
        guard text.isEmpty else { return text }
        do { try reader.finish() } catch { throw Self.fault(error) }
        return nil
    }

    private static func fault(_ error: GzipFault) -> GatewayError {
        GatewayError(.digestMismatch, "an attachment is not packed as its encoding says: \(error)")
    }
}
