internal import Compression
internal import Encodings
internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import Revisions

/// Reads the bytes of attachments from an export's folder or from the document, on its own thread.
actor AttachmentReading {
    private let executor = BlockingExecutor("changebot.attachments")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private static let pieceSize = 64 << 10
    private static let decompressedLimit = 256 << 20

    private let store: AttachmentStore?
    private var seen = AttachmentFileCache()

    init(_ store: AttachmentStore?) { self.store = store }

    /// A whole file as base64. Small files that many documents share are read and encoded once.
    ///
    /// - Throws: ``AttachmentError`` if the bytes don't match the digest in the file's name.
    func base64(of body: AttachmentBody, _ name: String) throws(AttachmentError) -> [UInt8] {
        if let text = seen[body].base64 { return text }
        let text = try encoded(body, name)
        if body.byteCount <= AttachmentFileCache.maxCachedSize { seen.note(body) { $0.base64 = text } }
        return text
    }

    private func encoded(_ body: AttachmentBody, _ name: String) throws(AttachmentError) -> [UInt8] {
        var text: [UInt8] = []
        // Don't reserve memory for all of a sparse or endless file.
        text.reserveCapacity((min(body.byteCount, 1 << 30) + 2) / 3 * 4)
        var encoder = Base64Encoder()
        try read(body, name) { text += encoder.encode($0) }
        return text + encoder.finish()
    }

    /// The base64 of the decompressed bytes.
    ///
    /// - Parameter base64: Digits and padding, on one line.
    /// - Throws: ``AttachmentError`` if it is not gzip, or larger than any gateway stores.
    func decompressed(_ base64: [UInt8], _ name: String) throws(AttachmentError) -> [UInt8] {
        do throws(GzipError) {
            let compressed = InlineBase64.bytes(of: base64.span)
            return Base64.encode(try Gzip.decompress(compressed, limit: Self.decompressedLimit))
        } catch {
            throw AttachmentError(name, "is not compressed as its 'encoding' states: \(error)")
        }
    }

    /// The attachment's digest as the gateway computes it; nil if its bytes are not available.
    func digest(
        of attachment: ImportAttachment, in document: JSONText, for dialect: GatewayDialect
    ) throws(AttachmentError) -> (digest: AttachmentDigest, byteCount: Int)? {
        var digest = AttachmentDigest.Calculation(for: dialect)
        switch attachment.body {
        case .stub, .removed: return nil
        case .file(let body):
            return (try fileDigest(of: body, attachment.name, for: dialect), body.byteCount)
        case .inline(let base64):
            let attachment = InlineAttachment(document.bytes, base64)
            attachment.forEachPiece { digest.update($0) }
            return (digest.digest(), attachment.byteCount)
        }
    }

    /// A new attachment as the gateway will describe it: `{"content_type":…,"digest":…,"length":…}`.
    func description(
        of attachment: ImportAttachment, in document: JSONText, for dialect: GatewayDialect
    ) throws(AttachmentError) -> [UInt8] {
        let known = try digest(of: attachment, in: document, for: dialect)
        var writer = JSONWriter()
        writer.object { writer in
            if let type = attachment.contentType { writer.member("content_type", string: type) }
            if let known {
                writer.member("digest", string: known.digest.description)
                writer.member("length", integer: known.byteCount)
            }
        }
        return writer.bytes
    }

    /// The gateway's digest of a file. Also checks that the bytes match the digest in the file's name. A file that many
    /// documents share is read once.
    private func fileDigest(
        of body: AttachmentBody, _ name: String, for dialect: GatewayDialect
    ) throws(AttachmentError) -> AttachmentDigest {
        if let digest = seen[body].digest, digest.isUsed(of: dialect) { return digest }
        var calculation = AttachmentDigest.Calculation(for: dialect)
        try read(body, name) { calculation.update($0) }
        let digest = calculation.digest()
        seen.note(body) { $0.digest = digest }
        return digest
    }

    /// Reads a file while it is sent. Its bytes must already have been checked.
    nonisolated func source(of body: AttachmentBody) -> ByteSource {
        let reading = StreamedFile(store.map { "\($0.path)/\(body.file)" } ?? "")
        return ByteSource(count: body.byteCount) { try await reading.next() }
    }

    private func read(
        _ body: AttachmentBody, _ name: String, _ take: ([UInt8]) -> Void
    ) throws(AttachmentError) {
        var sha256 = RunningDigest(.sha256)
        do throws(TransferError) {
            let file = try OpenFile(reading: "\(store?.path ?? "")/\(body.file)")
            while true {
                let piece = try file.read(upTo: Self.pieceSize)
                if piece.isEmpty { break }
                sha256.update(piece)
                take(piece)
            }
        } catch {
            throw AttachmentError(name, "can't be read: \(error)")
        }
        guard sha256.hex == body.sha256 else {
            throw AttachmentError(name, "is damaged: the SHA-256 of \(body.file) does not match its name")
        }
    }
}

/// A file that is read while it is sent.
private actor StreamedFile {
    private static let executor = BlockingExecutor("changebot.uploads")
    nonisolated var unownedExecutor: UnownedSerialExecutor { Self.executor.asUnownedSerialExecutor() }

    private let path: String
    private var file: OpenFile?

    init(_ path: String) { self.path = path }

    func next() throws(TransferError) -> [UInt8]? {
        let file: OpenFile
        if let open = self.file { file = open } else { file = try OpenFile(reading: path) }
        self.file = file
        let piece = try file.read(upTo: 64 << 10)
        return piece.isEmpty ? nil : piece
    }
}
