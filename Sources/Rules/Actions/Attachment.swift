internal import Compression
internal import Encodings
internal import Locking
internal import LosslessJSON

/// The content of a file, read once and shared by every document that it is attached to.
package final class AttachmentContent: Sendable {
    /// Bytes of the file.
    package let length: Int
    /// The file as base64, made once; whoever sends it shares this storage.
    package let base64: [UInt8]
    /// `sha1-` and base64, as Sync Gateway names content.
    package let sha1: String
    /// `md5-` and base64, as CouchDB does.
    package let md5: String
    /// In hexadecimal.
    package let sha256: String
    /// `md5-` and base64 of the packed content, by zlib's level; made as they are asked for.
    private let packedDigests = Locked<[Int32: String]>([:])

    /// CouchDB packs text before it stores it, and its digest is that of the packed bytes. Level 8 is its default; 6
    /// is zlib's, and 9 what those choose who want it small.
    ///
    /// - Note: Source: `[attachments] compression_level` (CouchDB 3.5, `default.ini`; `couch_stream.erl`).
    private static let packingLevels: [Int32] = [8, 6, 9]

    init(_ bytes: [UInt8]) {
        length = bytes.count
        base64 = Base64.encode(bytes)
        sha1 = Digest.sha1.attachmentName(bytes)
        md5 = Digest.md5.attachmentName(bytes)
        sha256 = Digest.sha256.hex(bytes)
    }

    /// Whether a gateway that names a content of this length so has this one.
    func isNamed(_ digest: String, length: Int?) -> Bool {
        if digest == sha1 || digest == md5 { return true }
        guard digest.hasPrefix("md5-"), length == self.length else { return false }
        return Self.packingLevels.contains { packedDigest(level: $0) == digest }
    }

    private func packedDigest(level: Int32) -> String {
        packedDigests.withLock { known in
            if let digest = known[level] { return digest }
            var writer = GzipWriter(level: level)
            var packed: [UInt8] = []
            writer.write((try? Base64.decode(base64)) ?? [], to: &packed)
            writer.finish(to: &packed)
            let digest = Digest.md5.attachmentName(packed)
            known[level] = digest
            return digest
        }
    }
}

/// An attachment as a rule makes it: content, and what kind of content that is.
package struct Attachment: Sendable {
    package let content: AttachmentContent
    package let contentType: String

    /// Sync Gateway takes no more: 20 MiB.
    package static let lengthLimit = 20 << 20

    init(_ content: AttachmentContent, contentType: String) {
        self.content = content
        self.contentType = contentType
    }

    /// The member that stands for the attachment while rules decide, so that later rules see it: a stub as the gateway
    /// will show it.
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

    /// Whether the stub of a document stands for this very content, in either dialect.
    func isContent(of stub: JSONValue) -> Bool {
        guard let digest = stub["digest"]?.string, stub["content_type"]?.isString(contentType) == true else {
            return false
        }
        return content.isNamed(digest, length: stub["length"]?.integer)
    }

    /// What stands before and behind the content's base64 in the member that is sent.
    var sentPrefix: [UInt8] {
        var prefix = Array("{\"content_type\":".utf8)
        prefix.appendJSONString(contentType.utf8)
        prefix.append(contentsOf: ",\"data\":\"".utf8)
        return prefix
    }

    static let sentSuffix = Array("\"}".utf8)
}
