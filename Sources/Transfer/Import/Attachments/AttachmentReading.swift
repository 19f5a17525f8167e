internal import Compression
internal import Encodings
internal import GatewayClient
internal import LosslessJSON

/// Reads the bytes of attachments: from the folder of an export, or out of the document. On a thread of its own.
actor AttachmentReading {
    private let executor = BlockingExecutor("changebot.attachments")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    private static let pieceSize = 64 << 10
    private static let unpackedLimit = 256 << 20

    private let store: AttachmentStore?

    init(_ store: AttachmentStore?) { self.store = store }

    /// All of a file as base64, made piece by piece.
    ///
    /// - Throws: ``AttachmentFault`` if the bytes are not those that the file is named after.
    func base64(of body: AttachmentBody, _ name: String) throws(AttachmentFault) -> [UInt8] {
        var text: [UInt8] = []
        // A file without end, or with holes, is not made room for at once.
        text.reserveCapacity((min(body.byteCount, 1 << 30) + 2) / 3 * 4)
        var encoder = Base64Encoder()
        try read(body, name) { text += encoder.encode($0) }
        return text + encoder.finish()
    }

    /// The same for the text that is packed in it.
    ///
    /// - Parameter base64: Digits and padding, on one line.
    /// - Throws: ``AttachmentFault`` if it is not packed, or has more than any gateway keeps.
    func unpacked(_ base64: [UInt8], _ name: String) throws(AttachmentFault) -> [UInt8] {
        do throws(GzipFault) {
            let packed = InlineBase64.bytes(of: base64.span)
            return Base64.encode(try Gzip.unpack(packed, limit: Self.unpackedLimit))
        } catch {
            throw AttachmentFault(name, "is not packed as its encoding says: \(error)")
        }
    }

    /// The digest that the gateway knows an attachment by; nil if its bytes are not here.
    func digest(
        of attachment: ImportAttachment, in document: JSONText, for dialect: GatewayDialect
    ) throws(AttachmentFault) -> (digest: AttachmentDigest, byteCount: Int)? {
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

    /// A new attachment as the gateway will tell of it: `{"content_type":…,"digest":…,"length":…}`.
    func description(
        of attachment: ImportAttachment, in document: JSONText, for dialect: GatewayDialect
    ) throws(AttachmentFault) -> [UInt8] {
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

    /// The digest of a file, once its bytes have turned out to be those that it is named after.
    func fileDigest(
        of body: AttachmentBody, _ name: String, for dialect: GatewayDialect
    ) throws(AttachmentFault) -> AttachmentDigest {
        var digest = AttachmentDigest.Calculation(for: dialect)
        try read(body, name) { digest.update($0) }
        return digest.digest()
    }

    /// Makes the bytes of a file while they are sent. They were checked before.
    nonisolated func source(of body: AttachmentBody) -> ByteSource {
        let reading = StreamedFile(store.map { "\($0.path)/\(body.file)" } ?? "")
        return ByteSource(count: body.byteCount) { try await reading.next() }
    }

    private func read(
        _ body: AttachmentBody, _ name: String, _ take: ([UInt8]) -> Void
    ) throws(AttachmentFault) {
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
            throw AttachmentFault(name, "can't be read: \(error)")
        }
        guard sha256.hex == body.sha256 else {
            throw AttachmentFault(name, "is damaged: the bytes of \(body.file) have another SHA-256")
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
