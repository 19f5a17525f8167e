internal import GatewayClient
internal import LosslessJSON

/// Writes the attachments of a document for a request.
struct AttachmentRendering: Sendable {
    let reading: AttachmentReading
    let gateway: Gateway
    let mode: ImportMode

    /// An attachment as written in the body.
    func rendered(
        _ attachment: ImportAttachment, _ document: JSONText, _ current: JSONText?
    ) async throws -> WrittenAttachment {
        var data: [UInt8]
        switch attachment.body {
        case .inline(let base64): data = base64.text(in: document.bytes)
        case .file(let body): data = try await reading.base64(of: body, attachment.name)
        case .stub, .removed:
            guard let stub = current?.root["_attachments"]?[attachment.name] else {
                throw attachment.withoutBytes
            }
            return WrittenAttachment(name: attachment.name, head: Array(stub.bytes), data: nil)
        }
        let isCompressed = attachment.encoding == "gzip"
        let keepsEncoding = gateway.dialect.keepsAttachmentEncoding
        if isCompressed, !keepsEncoding { data = try await reading.decompressed(data, attachment.name) }
        var head = JSONWriter()
        head.object { head in
            // CouchDB accepts null as a type and then crashes on it.
            if let type = attachment.contentType { head.member("content_type", string: type) }
            if isCompressed, keepsEncoding { head.member("encoding", string: "gzip") }
            if mode == .restore, let revpos = attachment.revisionPosition {
                head.member("revpos", integer: revpos)
            }
            head.member("data", string: "")
        }
        // Up to the quote before the data.
        return WrittenAttachment(name: attachment.name, head: Array(head.bytes.dropLast(2)), data: data)
    }

    /// Attachments as a dry run shows them, without their bytes.
    func described(
        _ attachments: [ImportAttachment], _ document: JSONText, _ current: JSONText?
    ) async throws(AttachmentError) -> [WrittenAttachment] {
        var described: [WrittenAttachment] = []
        for attachment in attachments {
            let stub = attachment.isStub ? current?.root["_attachments"]?[attachment.name] : nil
            let head: [UInt8]
            if let stub {
                head = Array(stub.bytes)
            } else {
                head = try await reading.description(of: attachment, in: document, for: gateway.dialect)
            }
            described.append(WrittenAttachment(name: attachment.name, head: head, data: nil))
        }
        return described
    }

    /// Nil for an attachment that is part of the document's body.
    func streamed(
        _ attachment: ImportAttachment, of document: JSONText
    ) async throws -> StreamedAttachment? {
        guard attachment.mayBeStreamed, let contentType = attachment.contentType,
            let known = try await reading.digest(of: attachment, in: document, for: gateway.dialect)
        else { return nil }
        let body = attachment.body
        return StreamedAttachment(
            name: attachment.name, contentType: contentType, digest: known.digest, byteCount: known.byteCount
        ) { [reading] in
            switch body {
            case .file(let file): reading.source(of: file)
            case .inline(let base64): InlineAttachment(document.bytes, base64).source
            case .stub, .removed: nil
            }
        }
    }
}
