internal import Encodings
internal import LosslessJSON

/// An attachment of a document to be sent to a client.
struct OutgoingAttachment: Sendable {
    enum Form {
        case stub
        /// As base64 in `data`.
        case inline
        /// `"follows":true`; the content is a part after the document.
        case following
    }

    enum Content: Equatable {
        /// At most ``inlineLimit`` bytes.
        case loaded([UInt8])
        case stored(StoredContent)
    }

    let name: String
    /// The stored entry.
    let entry: JSONValue
    /// Nil if only the stub is sent.
    let content: Content?

    /// Contents up to this length stay in the document as base64.
    ///
    /// - Note: Source: Sync Gateway's `rest/multipart.go`, `kMaxInlineAttachmentSize`.
    static let inlineLimit = 200

    /// The same attachment with its bytes decompressed. They need a separate digest, which clients verify.
    func replacing(_ bytes: [UInt8]) -> OutgoingAttachment {
        var text = JSONWriter()
        text.object { text in
            for member in entry.members {
                guard let name = member.name.string,
                    !["digest", "encoded_length", "encoding", "length"].contains(name)
                else { continue }
                text.member(name, raw: member.value.bytes)
            }
            text.member("length", integer: bytes.count)
        }
        let plain = (try? JSONText(text.bytes).root) ?? entry
        return OutgoingAttachment(name: name, entry: plain, content: .loaded(bytes))
    }

    /// The content, if it must be read from the store.
    var stored: StoredContent? {
        if case .stored(let content) = content { content } else { nil }
    }

    /// The form in an answer that is one JSON object.
    var objectForm: Form { content == nil ? .stub : .inline }

    /// The form in a multipart answer.
    var partForm: Form {
        switch content {
        case nil: .stub
        case .loaded: .inline
        case .stored: .following
        }
    }

    /// The entry's text, members sorted. For a stored content, `data` is ``BodyParts/placeholder``.
    func text(_ form: Form) -> [UInt8] {
        guard let content, form != .stub else { return Array(entry.bytes) }
        var members: [(name: String, text: [UInt8])] = entry.members.compactMap { member in
            guard let name = member.name.string, name != "stub" else { return nil }
            return (name, Array(member.value.bytes))
        }
        if form == .following {
            members.append(("follows", Array("true".utf8)))
        } else {
            members.append(("data", [UInt8(ascii: "\"")] + Self.data(content) + [UInt8(ascii: "\"")]))
        }
        members.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        var text = JSONWriter()
        text.object { text in for member in members { text.member(member.name, raw: member.text) } }
        return text.bytes
    }

    private static func data(_ content: Content) -> [UInt8] {
        switch content {
        case .loaded(let bytes): Base64.encode(bytes)
        case .stored: [BodyParts.placeholder]
        }
    }
}
