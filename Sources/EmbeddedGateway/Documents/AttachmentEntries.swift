internal import LosslessJSON

/// The `_attachments` of a stored revision: an object of stubs, sorted by name, as text.
enum AttachmentEntries {
    /// The entries of a new revision. Nil if it has none.
    ///
    /// A stub with a name that the parent has keeps the parent's entry, regardless of its other members. Any other stub
    /// is stored as sent, without content. If the parent has no attachments at all, the stub must have a digest.
    ///
    /// - Parameter parent: The text of the parent's `_attachments`. Nil if it has none.
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    static func make(
        _ attachments: [IncomingAttachment], parent: [UInt8]?, generation: Int
    ) throws -> [UInt8]? {
        guard !attachments.isEmpty else { return nil }
        let parentEntries = try parent.map { try JSONText($0).root }
        var text = JSONWriter()
        try text.object { text in
            for attachment in attachments {
                text.member(attachment.name, raw: try entry(attachment, parentEntries, generation))
            }
        }
        return text.bytes
    }

    private static func entry(
        _ attachment: IncomingAttachment, _ parent: JSONValue?, _ generation: Int
    ) throws(RequestError) -> [UInt8] {
        switch attachment.content {
        case .bytes(let bytes, let digest):
            return stub(attachment, digest: digest, length: bytes.count, generation: generation)
        case .stub(let entry, let hasDigest):
            if let kept = parent?[attachment.name] { return Array(kept.bytes) }
            guard parent != nil || hasDigest else {
                throw RequestError(400, "Missing digest in stub attachment \"\(attachment.name)\"")
            }
            return entry
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
