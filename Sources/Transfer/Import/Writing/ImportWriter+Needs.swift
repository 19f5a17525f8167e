internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import LosslessJSON

// What is to be done about a document, given what is there.
extension ImportWriter {
    /// - Throws: `RunFailure`, `CancellationError`.
    func need(_ open: Open, isTolerant: Bool) async throws -> Need {
        do {
            return try await need(open.document, open.lookup, isTolerant)
        } catch let fault as AttachmentFault {
            return .nothing(.rejected(reason: fault.reason))
        } catch let fault as JSONEditFault {
            return .nothing(.rejected(reason: "\(fault)"))
        } catch let fault as JSONFault {
            return .nothing(.rejected(reason: "\(fault)"))
        }
    }

    private func need(_ document: ImportDocument, _ lookup: DocumentLookup?, _ isTolerant: Bool) async throws -> Need {
        switch lookup {
        case .refused(let reason)?: return .nothing(.rejected(reason: "what is there can't be read: \(reason)"))
        case .found(let revision, let current)?:
            return try await need(document, over: current, revision, isTolerant)
        case .deleted?, .missing?, nil:
            if lookup != nil, settings.mode == .delete || document.isDeletion { return .nothing(.unchanged) }
            return try await newDocument(document)
        }
    }

    private func newDocument(_ document: ImportDocument) async throws -> Need {
        if let stub = document.attachments.first(where: { $0.isStub }) {
            throw stub.withoutBytes
        }
        let attachments = document.attachments.filter { $0.body != .removed }
        // Nulls of a patch mean nothing where there is nothing.
        let text =
            settings.mode == .merge
            ? try JSONText("{}").merging(try Self.patch(document.text).root) : document.text
        return try await write(document, text, revision: nil, attachments, keeping: nil, .inserted)
    }

    private func need(
        _ document: ImportDocument, over current: JSONText, _ revision: RevisionID, _ isTolerant: Bool
    ) async throws -> Need {
        if settings.mode == .delete || document.isDeletion && settings.mode != .insert {
            return .write(Self.tombstone(document, revision, isPlain: settings.mode == .delete), .deleted)
        }
        if settings.mode == .insert, !isTolerant { return .nothing(Self.isThere) }
        let isMerge = settings.mode == .merge
        let numbersAsWritten = !gateway.dialect.rewritesNumbers
        let text =
            isMerge
            ? try Self.plain(current).merging(
                try Self.patch(document.text).root, numbersAsWritten: numbersAsWritten) : document.text
        // RFC 7396: what is null is removed.
        let keepsOthers = isMerge && document.text.root["_attachments"]?.kind != .null
        let attachments = try await AttachmentComparison(
            document: document, current: current, keepsOthers: keepsOthers, reading: reading, dialect: gateway.dialect,
            digestOfCurrent: { name in try await digest(of: name, document.id, revision) }
        ).run()
        var patch = JSONPatch.difference(
            from: current.root, to: text.root, leavingOut: VersionMembers.names,
            numbersAsWritten: numbersAsWritten
        )
        patch = JSONPatch(operations: patch.operations + attachments.operations)
        if patch.operations.isEmpty { return .nothing(.unchanged) }
        if settings.mode == .insert { return .nothing(Self.isThere) }
        return try await write(
            document, text, revision: revision, attachments.written, keeping: current,
            .changed(settings.preview == nil ? [] : patch.json))
    }

    /// - Parameters:
    ///   - attachments: Those that the document is to have.
    ///   - current: Where the bytes of bare stubs are already.
    private func write(
        _ document: ImportDocument, _ text: JSONText, revision: RevisionID?, _ attachments: [ImportAttachment],
        keeping current: JSONText?, _ outcome: ImportOutcome
    ) async throws -> Need {
        var sentAlone: [StreamedAttachment] = []
        var written: [WrittenAttachment] = []
        if showsDocuments { written = try await described(attachments, document.text, current) }
        for attachment in attachments where settings.preview == nil {
            if document.isStreamed, let streamed = try await streamed(attachment, of: document.text) {
                sentAlone.append(streamed)
            } else {
                written.append(try await render(attachment, document.text, current))
            }
        }
        let body = ImportBody(text, leavingOut: VersionMembers.written, revision: revision, attachments: written)
        return sentAlone.isEmpty ? .write(body, outcome) : .stream(body, sentAlone, outcome)
    }

    /// Nil for one that goes with the document.
    private func streamed(
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

    /// Of an attachment that the gateway has; nil if it can't be read: then nobody knows whether it is the same.
    private func digest(of name: String, _ id: DocumentID, _ revision: RevisionID) async throws -> AttachmentDigest? {
        let answer = try await contact.single(
            gateway, arrivals: attachmentsRead, "reading an attachment failed; retrying",
            ["id": "\(id)", "attachment": "\(name)"],
            unless: { [.digestMismatch, .forbidden, .notFound, .invalidRequest].contains($0.code) },
            { try await readDigest(of: name, id, revision) })
        switch answer {
        case .success(let digest):
            attachmentsRead.note()
            return digest
        case .failure(let error):
            logger.notice(
                "an attachment can't be compared, and is written again",
                metadata: ["id": "\(id)", "attachment": "\(name)", "reason": "\(error)"])
            return nil
        }
    }

    private func readDigest(of name: String, _ id: DocumentID, _ revision: RevisionID) async throws -> AttachmentDigest?
    {
        guard var answer = try await gateway.openAttachment(name, of: id, revision: revision) else { return nil }
        var digest = AttachmentDigest.Calculation(for: gateway.dialect)
        while let bytes = try await answer.next() { digest.update(bytes) }
        return digest.digest()
    }

    /// An attachment as it stands in the body.
    func render(
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
        let isPacked = attachment.encoding == "gzip"
        let keepsEncoding = gateway.dialect.keepsAttachmentEncoding
        if isPacked, !keepsEncoding { data = try await reading.unpacked(data, attachment.name) }
        var head = JSONWriter()
        head.object { head in
            // CouchDB takes null for a type, and falls over it.
            if let type = attachment.contentType { head.member("content_type", string: type) }
            if isPacked, keepsEncoding { head.member("encoding", string: "gzip") }
            if settings.mode == .restore, let revpos = attachment.revisionPosition {
                head.member("revpos", integer: revpos)
            }
            head.member("data", string: "")
        }
        // Up to the quote that the data follows.
        return WrittenAttachment(name: attachment.name, head: Array(head.bytes.dropLast(2)), data: data)
    }

    /// Attachments as a dry run shows them: without their bytes.
    func described(
        _ attachments: [ImportAttachment], _ document: JSONText, _ current: JSONText?
    ) async throws(AttachmentFault) -> [WrittenAttachment] {
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

    /// The gateway's document without what says which version it is, and without attachments.
    private static func plain(_ document: JSONText) throws -> JSONText {
        try JSONText(ImportBody(document, leavingOut: VersionMembers.written).bytes)
    }

    /// The incoming document as a patch of what is there.
    private static func patch(_ document: JSONText) throws -> JSONText { try plain(document) }

    /// - Parameter isPlain: Of the document only the id counts.
    private static func tombstone(_ document: ImportDocument, _ revision: RevisionID, isPlain: Bool) -> ImportBody {
        guard isPlain else {
            return ImportBody(document.text, leavingOut: VersionMembers.written, revision: revision)
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.member("_id", string: document.id.text)
            writer.member("_rev", string: revision.text)
            writer.member("_deleted", bool: true)
        }
        return ImportBody(writer.bytes)
    }
}

extension ImportBody {
    var bytes: [UInt8] { Array(segments.joined()) }
}
