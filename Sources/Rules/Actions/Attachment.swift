internal import Compression
internal import Encodings
internal import Locking
internal import LosslessJSON

/// The content of a file, read once and shared by every document that it is attached to.
package final class AttachmentContent: Sendable {
    /// Bytes of the file.
    package let length: Int
    /// The file as base64, encoded once; senders share this storage.
    package let base64: [UInt8]
    /// `sha1-` and base64: the digest on Sync Gateway.
    package let sha1: String
    /// `md5-` and base64: the digest on CouchDB, for content that it does not compress.
    package let md5: String
    /// In lowercase hexadecimal.
    package let sha256: String
    /// `md5-` and base64 of the compressed content by zlib level, computed on first use.
    private let compressedDigests = Locked<[Int32: String]>([:])

    /// Whether attachments of the gateway, by digest, have this content: the results of byte comparisons.
    private let comparisons = Locked<[String: Bool]>([:])

    /// The levels to try before an attachment is read. Level 8 is CouchDB's default, 6 is zlib's, and 9 is a common
    /// choice for the smallest size.
    ///
    /// - Note: Source: `[attachments] compression_level` (CouchDB 3.5, `default.ini`; `couch_stream.erl`).
    private static let compressionLevels: [Int32] = [8, 6, 9]
    /// Attachments with distinct digests of this length are rare.
    private static let comparisonLimit = 1000

    /// Whether this is a media type, optionally with parameters.
    package static func isType(_ text: String) -> Bool { ContentType.isValid(text) }

    /// Computes digests and base64; keeps only these.
    package init(_ bytes: [UInt8]) {
        length = bytes.count
        base64 = Base64.encode(bytes)
        sha1 = Digest.sha1.attachmentName(bytes)
        md5 = Digest.md5.attachmentName(bytes)
        sha256 = Digest.sha256.hex(bytes)
    }

    /// Whether a gateway's digest and length mean this content. Nil if only its bytes can tell: CouchDB compresses types
    /// and at a level of its settings, and its digest is that of the compressed bytes.
    package func isNamed(_ digest: String, length: Int?) -> Bool? {
        if digest == sha1 || digest == md5 { return true }
        guard digest.hasPrefix("md5-"), length == self.length else { return false }
        if let isSame = comparisons.withLock({ $0[digest] }) { return isSame }
        return Self.compressionLevels.contains { compressedDigest(level: $0) == digest } ? true : nil
    }

    /// Notes the result of a comparison with the bytes that a gateway has under this digest.
    func note(_ digest: String, isSame: Bool) {
        comparisons.withLock { known in
            if known.count >= Self.comparisonLimit { known = [:] }
            known[digest] = isSame
        }
    }

    private func compressedDigest(level: Int32) -> String {
        compressedDigests.withLock { known in
            if let digest = known[level] { return digest }
            var writer = GzipWriter(level: level)
            var compressed: [UInt8] = []
            writer.write((try? Base64.decode(base64)) ?? [], to: &compressed)
            writer.finish(to: &compressed)
            let digest = Digest.md5.attachmentName(compressed)
            known[level] = digest
            return digest
        }
    }
}

/// An attachment that a rule makes: content and media type.
package struct Attachment: Sendable {
    /// Shared with all documents that get the same file.
    package let content: AttachmentContent
    /// The media type, sent as `content_type`.
    package let contentType: String
    /// Where it is from; nil: a file.
    package let url: String?
    /// False if this is a test or an explanation: then the content is empty.
    package let isDownloaded: Bool

    /// The largest attachment that Sync Gateway accepts: 20 MiB.
    package static let lengthLimit = 20 << 20

    init(_ content: AttachmentContent, contentType: String, url: String? = nil) {
        self.content = content
        self.contentType = contentType
        self.url = url
        isDownloaded = true
    }

    /// For tests and explanations.
    init(notDownloadedFrom url: String, contentType: String) {
        content = AttachmentContent([])
        self.contentType = contentType
        self.url = url
        isDownloaded = false
    }

    /// The placeholder for the attachment while rules decide, so that later rules see it: a stub like the gateway's.
    var stub: [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("content_type", string: contentType)
            writer.member("digest", string: content.sha1)
            writer.member("length", integer: content.length)
            writer.member("stub", bool: true)
        }
        return writer.bytes
    }

    /// Whether a stub in a document means this very content, on either kind of gateway. Nil if only the bytes can tell.
    func isContent(of stub: JSONValue) -> Bool? {
        guard let digest = stub["digest"]?.string, stub["content_type"]?.isString(contentType) == true else {
            return false
        }
        return content.isNamed(digest, length: stub["length"]?.integer)
    }

    /// The text before and after the base64 in the member that is sent.
    var sentPrefix: [UInt8] {
        var prefix = Array("{\"content_type\":".utf8)
        prefix.appendJSONString(contentType.utf8)
        prefix.append(contentsOf: ",\"data\":\"".utf8)
        return prefix
    }

    static let sentSuffix = Array("\"}".utf8)
}
