internal import HTTPServing
internal import LosslessJSON

/// A revision with the history and the attachment contents that a client requested.
struct OutgoingDocument: Sendable {
    let document: StoredDocument
    /// Nil if only stubs are sent.
    var attachments: [OutgoingAttachment]?
    /// Nil if it was not requested.
    var history: [StoredRevisionID]?

    /// Whether contents are sent with the document.
    var hasContents: Bool { attachments?.contains { $0.content != nil } ?? false }

    /// One JSON object, contents in base64.
    var text: BodyParts { BodyParts(text(\.objectForm), base64: (attachments ?? []).compactMap(\.stored)) }

    /// `multipart/related`: the document, then its larger contents.
    ///
    /// - Parameter ending: Follows the last boundary.
    func multipart(compressesJSON: Bool = false, ending: String = "\r\n") -> (type: HTTPField, body: BodyParts) {
        var parts = MultipartWriter(compressesJSON: compressesJSON)
        parts.json(text(\.partForm))
        for attachment in attachments ?? [] {
            guard let content = attachment.stored else { continue }
            var part = BodyParts()
            part.append(content, as: .raw)
            parts.part(Self.fields(of: attachment), part)
        }
        parts.close(ending: ending)
        return (parts.contentType("related"), parts.take())
    }

    /// Adds the document to a `multipart/mixed` answer: as JSON, or as a nested multipart body if it has contents.
    ///
    /// - Parameter isForCouchDB: Small contents alone need no nested body. If a nested body has no separate contents,
    ///   CouchDB's replicator waits five minutes for them (3.5.0's `couch_httpd_multipart.erl`).
    func write(to parts: inout MultipartWriter, isForCouchDB: Bool = false) {
        let isNested = isForCouchDB ? attachments?.contains { $0.partForm == .following } ?? false : hasContents
        guard isNested else { return parts.json(text(\.objectForm)) }
        let (type, body) = multipart(compressesJSON: parts.compressesJSON, ending: "")
        let names = [HTTPField("X-Doc-Id", document.id), HTTPField("X-Rev-Id", document.revision)]
        parts.part([type] + names, body)
    }

    private func text(_ form: (OutgoingAttachment) -> OutgoingAttachment.Form) -> [UInt8] {
        guard let attachments else { return document.text(history: history) }
        var entries = JSONWriter()
        entries.object { entries in
            for attachment in attachments { entries.member(attachment.name, raw: attachment.text(form(attachment))) }
        }
        return document.text(attachments: entries.bytes, history: history)
    }

    private static func fields(of attachment: OutgoingAttachment) -> [HTTPField] {
        var name: [UInt8] = []
        name.appendJSONString(attachment.name.utf8)
        var fields = [
            HTTPField("Content-Disposition", "attachment; filename=" + String(decoding: name, as: UTF8.self))
        ]
        if let type = attachment.entry["content_type"]?.string { fields.append(HTTPField("Content-Type", type)) }
        return fields
    }
}
