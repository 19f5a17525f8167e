internal import Encodings

/// A gateway's digest of an attachment's bytes: `sha1-…` (Sync Gateway) or `md5-…` (CouchDB), in base64.
public struct AttachmentDigest: Hashable, Sendable, CustomStringConvertible {
    let algorithm: Digest
    let base64: String

    /// From the text in an attachment's stub. Nil for any other algorithm.
    public init?(_ text: String) {
        guard let dash = text.firstIndex(of: "-"),
            let algorithm = Digest(rawValue: String(text[..<dash])), algorithm != .sha256
        else { return nil }
        self.algorithm = algorithm
        base64 = String(text[text.index(after: dash)...])
    }

    /// From the `ETag` of an attachment: `"sha1-…"`; CouchDB omits the `md5-`.
    init?(entityTag: String?) {
        guard let tag = entityTag, tag.count > 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return nil }
        let text = String(tag.dropFirst().dropLast())
        // 16 bytes in base64 are 24 characters and never contain "-".
        self.init(text.count == 24 && text.hasSuffix("==") && !text.contains("-") ? "md5-\(text)" : text)
    }

    /// Whether it may be the digest of compressed bytes that the gateway sends uncompressed (CouchDB).
    public var mayCoverCompressedBytes: Bool { algorithm == Self.compressedAlgorithm }

    static let compressedAlgorithm = Digest.md5

    /// Whether this server uses digests of this kind.
    package func isUsed(of dialect: GatewayDialect) -> Bool { algorithm == dialect.attachmentDigest }

    /// Whether it identifies its bytes. MD5 is not collision-resistant.
    package var namesContent: Bool { algorithm == .sha1 }

    /// Whether attachments with these two digests are the same. Nil if that can't be determined: the algorithms differ,
    /// or CouchDB may have compressed the bytes. Its settings say which types, and at which level.
    package func isSame(as other: AttachmentDigest) -> Bool? {
        guard algorithm == other.algorithm else { return nil }
        if base64 == other.base64 { return true }
        return mayCoverCompressedBytes ? nil : false
    }

    /// Whether CouchDB compresses attachments of this type by default. Its settings may specify other types.
    static func isCompressedByCouchDB(_ contentType: String?) -> Bool {
        guard let type = contentType?.lowercased() else { return false }
        return ["text/", "application/json", "application/xml", "application/javascript"].contains {
            type.hasPrefix($0)
        }
    }

    /// As in an attachment's stub.
    public var description: String { "\(algorithm.rawValue)-\(base64)" }
}
