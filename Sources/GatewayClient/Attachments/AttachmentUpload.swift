internal import Encodings

/// An attachment to be written together with its document.
public struct AttachmentUpload: Sendable {
    public let name: String
    public let contentType: String
    /// Sync Gateway finds the attachment by it and takes none without; `sha1-…` there, `md5-…` on CouchDB, which can do
    /// without.
    public let digest: AttachmentDigest?
    public let source: ByteSource

    public init(name: String, contentType: String, digest: AttachmentDigest?, source: ByteSource) {
        self.name = name
        self.contentType = contentType
        self.digest = digest
        self.source = source
    }
}

extension AttachmentDigest {
    /// Makes a digest of bytes that come piece by piece.
    public struct Calculation: Sendable {
        private let algorithm: Digest
        private var running: RunningDigest

        /// The kind of digest that this server uses.
        public init(for dialect: GatewayDialect) { self.init(dialect.attachmentDigest) }

        /// The kind of digest that is of bytes as they are stored, which may be compressed.
        package static var ofPackedBytes: Self { Self(AttachmentDigest.packedAlgorithm) }

        private init(_ algorithm: Digest) {
            self.algorithm = algorithm
            running = RunningDigest(algorithm)
        }

        public mutating func update(_ bytes: [UInt8]) { running.update(bytes) }

        /// The digest of all that came. More bytes may come afterwards, and it be asked again.
        public func digest() -> AttachmentDigest {
            AttachmentDigest(algorithm: algorithm, base64: Base64.text(running.bytes))
        }
    }

    init(algorithm: Digest, base64: String) {
        self.algorithm = algorithm
        self.base64 = base64
    }
}
