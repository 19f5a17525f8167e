internal import LosslessJSON

/// One attachment of a document that is on its way to a client.
struct LoadedAttachment: Sendable {
    enum Form {
        case stub
        /// `data`, in base64.
        case inline
        /// `"follows":true`, the content is a part behind the document.
        case following
    }

    let name: String
    /// The stored entry.
    let entry: JSONValue
    /// Nil if only the stub is to be sent.
    let content: [UInt8]?

    /// Contents that are not longer stay within the document, in base64.
    ///
    /// - Note: Source: Sync Gateway's `rest/multipart.go`, `kMaxInlineAttachmentSize`.
    private static let inlineLimit = 200

    /// How the attachment is sent in an answer that can have parts.
    var partForm: Form {
        guard let content else { return .stub }
        return content.count > Self.inlineLimit ? .following : .inline
    }

    /// The entry's text, members sorted.
    func text(_ form: Form) -> [UInt8] {
        guard let content, form != .stub else { return Array(entry.bytes) }
        var members: [(name: String, text: [UInt8])] = entry.members.compactMap { member in
            guard let name = member.name.string, name != "stub" else { return nil }
            return (name, Array(member.value.bytes))
        }
        if form == .following {
            members.append(("follows", Array("true".utf8)))
        } else {
            members.append(("data", [UInt8(ascii: "\"")] + Base64.encode(content) + [UInt8(ascii: "\"")]))
        }
        members.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        var text = JSONWriter(minimumCapacity: content.count / 3 * 4 + 256)
        text.object { text in for member in members { text.member(member.name, raw: member.text) } }
        return text.bytes
    }
}
