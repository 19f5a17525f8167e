internal import LosslessJSON

/// The `_attachments` of a stored revision: the text of an object of stubs, sorted by name.
enum AttachmentEntries {
    /// The entries that a new revision has; nil if it has none.
    ///
    /// A stub whose name the parent has keeps the parent's entry, whatever else it says. One that the parent does not
    /// have is taken as it is if it has a digest: it dangles. Without a digest it is refused in a first revision, and
    /// names nothing in a later one.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    static func make(
        _ attachments: [IncomingAttachment], parent: [UInt8]?, generation: Int
    ) throws -> [UInt8]? {
        guard !attachments.isEmpty else { return nil }
        let parentEntries = try parent.map { try JSONText($0).root }
        var text = JSONWriter()
        var count = 0
        try text.object { text in
            for attachment in attachments {
                guard let entry = try entry(attachment, parentEntries, generation) else { continue }
                text.member(attachment.name, raw: entry)
                count += 1
            }
        }
        return count == 0 ? nil : text.bytes
    }

    private static func entry(
        _ attachment: IncomingAttachment, _ parent: JSONValue?, _ generation: Int
    ) throws(GatewayFault) -> [UInt8]? {
        switch attachment.content {
        case .bytes(let bytes, let digest):
            return stub(attachment, digest: digest, length: bytes.count, generation: generation)
        case .stub(let entry, let hasDigest):
            if let kept = parent?.member(attachment.name.utf8) { return Array(kept.bytes) }
            if hasDigest { return entry }
            if generation == 1 {
                throw GatewayFault(400, "Missing digest in stub attachment \"\(attachment.name)\"")
            }
            return nil
        }
    }

    private static func stub(
        _ attachment: IncomingAttachment, digest: String, length: Int, generation: Int
    ) -> [UInt8] {
        var text = JSONWriter()
        text.object { text in
            if let type = attachment.contentType { text.member("content_type", escaped: type) }
            text.member("digest", string: digest)
            if let encoding = attachment.encoding {
                text.member("encoded_length", integer: length)
                text.member("encoding", escaped: encoding)
            } else {
                text.member("length", integer: length)
            }
            text.member("revpos", integer: generation)
            text.member("stub", bool: true)
        }
        return text.bytes
    }
}
