internal import LosslessJSON

extension Router {
    /// `/DB/ID/NAME`.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func attachment(_ request: Request, _ id: String, _ name: String) async throws -> Answer {
        switch request.method {
        case "GET", "HEAD": return try await getAttachment(request, id, name)
        case "PUT": return try await editAttachments(request, id, name, adding: true)
        case "DELETE": return try await editAttachments(request, id, name, adding: false)
        default: throw GatewayFault.methodNotAllowed("DELETE, GET, HEAD, PUT")
        }
    }

    private func getAttachment(_ request: Request, _ id: String, _ name: String) async throws -> Answer {
        let document = try await stored(id, revision: request.query["rev"])
        guard let entries = document.attachments, let entry = try JSONText(entries).root.member(name.utf8) else {
            throw GatewayFault(404, "missing attachment \(name)")
        }
        if request.query.flag("meta") { return .json(Array(entry.bytes)) }
        guard let digest = entry["digest"]?.string,
            let content = try await store.attachments([digest], of: id)[digest]
        else {
            throw GatewayFault.missing
        }
        var answer = try Answer(content, range: request.field("Range"))
        answer.fields += [
            HTTPField("Content-Type", entry["content_type"]?.string ?? "application/octet-stream"),
            .revisionTag(digest),
        ]
        if let encoding = entry["encoding"]?.string { answer.fields.append(HTTPField("Content-Encoding", encoding)) }
        return answer
    }

    /// Writes a revision with the same body and one attachment more, or fewer.
    private func editAttachments(
        _ request: Request, _ id: String, _ name: String, adding: Bool
    ) async throws -> Answer {
        let current = try await store.winner(of: id)
        let named = request.namedRevision
        if let current, !current.isDeleted, named == nil {
            throw GatewayFault(409, "Cannot modify attachments without a specific rev ID")
        }
        var attachments = try current?.attachments.map { try JSONText($0).root.members.compactMap(\.name.string) } ?? []
        guard adding || attachments.contains(name) else { throw GatewayFault.missing }
        attachments.removeAll { $0 == name }
        var entries = attachments.map(IncomingAttachment.init(keeping:))
        if adding {
            try request.checkEncoding()
            let type = request.field("Content-Type") ?? "application/octet-stream"
            entries.append(try IncomingAttachment(name: name, bytes: request.body, contentType: type))
        }
        entries.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let document = try IncomingDocument.same(
            body: current?.body ?? Array("{}".utf8), revision: named, attachments: entries)
        let revision = try await store.write(DocumentEdit(id: id, document, isNew: true))
        return Self.written(id, revision, status: adding ? 201 : 200)
    }
}

extension Answer {
    /// The content, or the one range of it that is asked for.
    ///
    /// - Note: Source: RFC 9110, section 14; more than one range is answered with the whole.
    fileprivate init(_ content: [UInt8], range: String?) throws(GatewayFault) {
        let ranges = HTTPField("Accept-Ranges", "bytes")
        guard let range, range.hasPrefix("bytes="), !range.contains(",") else {
            self.init(status: 200, fields: [ranges], body: .whole(content))
            return
        }
        let bounds = range.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        let first = bounds.first.flatMap { UInt32($0) }.map(Int.init)
        let last = bounds.count == 2 ? UInt32(bounds[1]).map(Int.init) : nil
        let start = first ?? max(0, content.count - (last ?? 0))
        let end = first == nil ? content.count : min(content.count, (last ?? content.count) + 1)
        guard first != nil || last != nil, start < end else {
            throw GatewayFault(
                416, "invalid range", headers: [HTTPField("Content-Range", "bytes */\(content.count)")])
        }
        let place = HTTPField("Content-Range", "bytes \(start)-\(end - 1)/\(content.count)")
        self.init(status: 206, fields: [ranges, place], body: .whole(Array(content[start..<end])))
    }
}

extension Store {
    /// `_attachments` with `data` in place of `stub`; a stub that dangles stays one. Nil if there are none.
    func inlinedAttachments(of document: StoredDocument) async throws -> [UInt8]? {
        guard let stubs = try document.attachments.map({ try JSONText($0).root }) else { return nil }
        let digests = stubs.members.compactMap { $0.value["digest"]?.string }
        let contents = try await attachments(digests, of: document.id)
        var text = JSONWriter()
        text.object { text in
            for entry in stubs.members {
                guard let name = entry.name.string else { continue }
                let content = entry.value["digest"]?.string.flatMap { contents[$0] }
                text.member(name, raw: content.map { Self.inlined(entry.value, $0) } ?? Array(entry.value.bytes))
            }
        }
        return text.bytes
    }

    private static func inlined(_ stub: JSONValue, _ content: [UInt8]) -> [UInt8] {
        var text = JSONWriter(minimumCapacity: content.count / 3 * 4 + 256)
        text.object { text in
            var isDue = true
            for member in stub.members where !member.name.isString("stub".utf8) {
                if isDue, !member.name.isString("content_type".utf8) {
                    text.member("data", string: String(decoding: Base64.encode(content), as: UTF8.self))
                    isDue = false
                }
                text.member(member.name.string ?? "", raw: member.value.bytes)
            }
        }
        return text.bytes
    }
}
