internal import GatewayClient
internal import LosslessJSON

/// An attachment in a temporary file, to be streamed to the target.
struct SpooledUpload: Sendable {
    private static let pieceSize = 64 << 10

    private let stub: AttachmentStub
    private let spool: AttachmentSpool
    let byteCount: Int
    private let digest: AttachmentDigest
    private let generation: Int?

    init(
        _ stub: AttachmentStub, of document: JSONText, _ spool: AttachmentSpool, byteCount: Int,
        for dialect: GatewayDialect
    ) async throws {
        self.stub = stub
        generation = document.root["_attachments"]?[stub.name]?["revpos"]?.integer
        self.spool = spool
        self.byteCount = byteCount
        var digest = AttachmentDigest.Calculation(for: dialect)
        try await spool.rewind()
        while case let piece = try await spool.read(upTo: Self.pieceSize), !piece.isEmpty { digest.update(piece) }
        self.digest = digest.digest()
    }

    /// The upload for one request.
    var upload: AttachmentUpload {
        let reading = Reading(spool)
        var upload = AttachmentUpload(
            name: stub.name, contentType: stub.contentType ?? "application/octet-stream", digest: digest,
            source: ByteSource(count: byteCount) { try await reading.next() })
        upload.generation = generation
        return upload
    }

    private actor Reading {
        private let spool: AttachmentSpool
        private var hasBegun = false

        init(_ spool: AttachmentSpool) { self.spool = spool }

        func next() async throws -> [UInt8]? {
            if !hasBegun {
                hasBegun = true
                try await spool.rewind()
            }
            let piece = try await spool.read(upTo: SpooledUpload.pieceSize)
            return piece.isEmpty ? nil : piece
        }
    }
}
