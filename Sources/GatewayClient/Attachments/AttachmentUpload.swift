internal import Encodings

/// An attachment to be written together with its document.
public struct AttachmentUpload: Sendable {
    /// As in `_attachments`, not percent-encoded; without control characters.
    public let name: String
    /// Stored as `content_type`; without control characters.
    public let contentType: String
    /// `sha1-…` on Sync Gateway, which requires it; `md5-…` on CouchDB, where it may be nil.
    public let digest: AttachmentDigest?
    /// Read only once, while the request is sent.
    public let source: ByteSource
    /// `revpos`: the generation of the revision that added it. Only for revisions that are stored unchanged.
    package var generation: Int?

    /// Does no checks: ``Gateway/put(_:body:attachments:)`` throws `.invalidRequest` for invalid values.
    public init(name: String, contentType: String, digest: AttachmentDigest?, source: ByteSource) {
        self.name = name
        self.contentType = contentType
        self.digest = digest
        self.source = source
    }
}

extension AttachmentDigest {
    /// Computes a digest piece by piece.
    public struct Calculation: Sendable {
        private let algorithm: Digest
        private var running: RunningDigest

        /// The kind of digest that this server uses.
        public init(for dialect: GatewayDialect) { self.init(dialect.attachmentDigest) }

        /// The kind of digest that `other` is.
        package init(like other: AttachmentDigest) { self.init(other.algorithm) }

        /// For digests of bytes as they are stored, which may be compressed.
        package static var ofCompressedBytes: Self { Self(AttachmentDigest.compressedAlgorithm) }

        private init(_ algorithm: Digest) {
            self.algorithm = algorithm
            running = RunningDigest(algorithm)
        }

        /// Adds the next bytes. May be called after ``digest()``.
        public mutating func update(_ bytes: [UInt8]) { running.update(bytes) }

        /// The digest of all bytes so far. More may follow.
        public func digest() -> AttachmentDigest {
            AttachmentDigest(algorithm: algorithm, base64: Base64.text(running.bytes))
        }
    }

    init(algorithm: Digest, base64: String) {
        self.algorithm = algorithm
        self.base64 = base64
    }
}
