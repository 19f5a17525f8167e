/// What a gateway says of an attachment's bytes: `sha1-…` (Sync Gateway) or `md5-…` (CouchDB), in base64.
public struct AttachmentDigest: Hashable, Sendable, CustomStringConvertible {
    let algorithm: BlockDigest.Algorithm
    let base64: String

    /// As it stands in an attachment's stub. Nil if the algorithm is none of the two.
    public init?(_ text: String) {
        guard let dash = text.firstIndex(of: "-"),
            let algorithm = BlockDigest.Algorithm(rawValue: String(text[..<dash]))
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
    public var mayBeOfPackedBytes: Bool { algorithm == .md5 }

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

extension [UInt8] {
    /// RFC 4648, section 4.
    var base64: String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: count, by: 3) {
            let group = self[start..<Swift.min(start + 3, count)]
            let bits = (group + [0, 0]).prefix(3).reduce(0) { $0 << 8 | Int($1) }
            let digits = stride(from: 18, through: 0, by: -6).map { alphabet[bits >> $0 & 63] }
            text += digits.prefix(group.count + 1) + [UInt8](repeating: UInt8(ascii: "="), count: 3 - group.count)
        }
        return String(decoding: text, as: UTF8.self)
    }
}
