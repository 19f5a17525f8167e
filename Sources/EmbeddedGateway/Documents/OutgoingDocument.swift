internal import LosslessJSON

/// A revision with what a client asked for beside the body: its history, the contents of its attachments.
struct OutgoingDocument: Sendable {
    let document: StoredDocument
    /// Nil if only stubs are to be sent.
    var attachments: [LoadedAttachment]?
    /// Nil if it was not asked for.
    var history: [RevisionID]?

    /// Whether contents go out with the document.
    var hasContents: Bool { attachments?.contains { $0.content != nil } ?? false }

    /// One JSON object, contents in base64.
    var text: [UInt8] { text { $0.content == nil ? .stub : .inline } }

    /// `multipart/related`: the document, then its larger contents.
    func multipart(packsJSON: Bool = false) -> (type: HTTPField, body: [UInt8]) {
        var parts = MultipartWriter(packsJSON: packsJSON)
        parts.json(text(\.partForm))
        for attachment in attachments ?? [] where attachment.partForm == .following {
            parts.part(Self.fields(of: attachment), attachment.content ?? [])
        }
        parts.close()
        return (parts.contentType("related"), parts.take())
    }

    /// Adds the document to a `multipart/mixed` answer: as JSON, or with parts of its own where contents go along.
    func write(to parts: inout MultipartWriter) {
        guard hasContents else { return parts.json(text) }
        let (type, body) = multipart(packsJSON: parts.packsJSON)
        let names = [HTTPField("X-Doc-Id", document.id), HTTPField("X-Rev-Id", document.revision)]
        parts.part([type] + names, Array(body.dropLast(2)))
    }

    private func text(_ form: (LoadedAttachment) -> LoadedAttachment.Form) -> [UInt8] {
        guard let attachments else { return document.text(history: history) }
        var entries = JSONWriter()
        entries.object { entries in
            for attachment in attachments { entries.member(attachment.name, raw: attachment.text(form(attachment))) }
        }
        return document.text(attachments: entries.bytes, history: history)
    }

    private static func fields(of attachment: LoadedAttachment) -> [HTTPField] {
        var name: [UInt8] = []
        name.appendJSONString(attachment.name.utf8)
        var fields = [
            HTTPField("Content-Disposition", "attachment; filename=" + String(decoding: name, as: UTF8.self))
        ]
        if let type = attachment.entry["content_type"]?.string { fields.append(HTTPField("Content-Type", type)) }
        return fields
    }
}
