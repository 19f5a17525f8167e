internal import Encodings

/// What a gateway says of an attachment's bytes: `sha1-…` (Sync Gateway) or `md5-…` (CouchDB), in base64.
public struct AttachmentDigest: Hashable, Sendable, CustomStringConvertible {
    let algorithm: Digest
    let base64: String

    /// As it stands in an attachment's stub. Nil if the algorithm is none of the two.
    public init?(_ text: String) {
        guard let dash = text.firstIndex(of: "-"),
            let algorithm = Digest(rawValue: String(text[..<dash])), algorithm != .sha256
        else { return nil }
        self.algorithm = algorithm
        base64 = String(text[text.index(after: dash)...])
    }

    /// From the `ETag` of an attachment: `"sha1-…"`; CouchDB leaves the `md5-` out.
    init?(entityTag: String?) {
        guard let tag = entityTag, tag.count > 2, tag.hasPrefix("\""), tag.hasSuffix("\"") else { return nil }
        let text = String(tag.dropFirst().dropLast())
        // 16 bytes in base64 are 24 characters, and "-" is none of them.
        self.init(text.count == 24 && text.hasSuffix("==") && !text.contains("-") ? "md5-\(text)" : text)
    }

    /// Whether it is of CouchDB's kind: of bytes that may be packed, while those that it sends are not.
    public var mayBeOfPackedBytes: Bool { algorithm == Self.packedAlgorithm }

    static let packedAlgorithm = Digest.md5

    /// Whether no other bytes have it. MD5 names no content for sure.
    package var namesContent: Bool { algorithm == .sha1 }

    /// Whether attachments of a type with these two digests are the same. Nil if that can't be told: the servers are of
    /// different kinds, or CouchDB has packed the bytes, which it may do in more than one way.
    package func isSame(as other: AttachmentDigest, contentType: String?) -> Bool? {
        guard algorithm == other.algorithm else { return nil }
        if base64 == other.base64 { return true }
        return mayBeOfPackedBytes && AttachmentAnswer.isStoredCompressed(contentType) ? nil : false
    }

    /// Whether CouchDB packs attachments of this type when it stores them, unless it is told otherwise.
    package static func isPackedByCouchDB(_ contentType: String?) -> Bool {
        AttachmentAnswer.isStoredCompressed(contentType)
    }

    public var description: String { "\(algorithm.rawValue)-\(base64)" }
}
