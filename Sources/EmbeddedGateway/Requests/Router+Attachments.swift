internal import Encodings
internal import HTTPServing
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
        default: throw RequestError.methodNotAllowed("DELETE, GET, HEAD, PUT")
        }
    }

    private func getAttachment(_ request: Request, _ id: String, _ name: String) async throws -> Answer {
        let document = try stored(id, revision: request.query["rev"])
        guard let entries = document.attachments, let entry = try JSONText(entries).root[name] else {
            throw RequestError(404, "missing attachment \(name)")
        }
        guard let digest = entry["digest"]?.string,
            let length = try store.attachmentLength(digest, of: id)
        else {
            throw RequestError.missing
        }
        if request.query.flag("meta") { return .json(Self.notes(on: entry, digest, of: id)) }
        let range = try request.field("Range").flatMap { text throws(RequestError) in
            try Self.range(text, of: length)
        }
        var answer = Answer(status: range == nil ? 200 : 206, fields: [HTTPField("Accept-Ranges", "bytes")])
        if let range {
            let place = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(length)"
            answer.fields.append(HTTPField("Content-Range", place))
        }
        try await add(digest, range ?? 0..<length, to: &answer)
        answer.fields.append(.revisionTag(digest))
        answer.fields += Self.fields(of: entry, showsEncoding: request.query["content_encoding"] != "false")
        return answer
    }

    /// The stored entry with the members that the real gateway adds, such as the content's key in the bucket.
    private static func notes(on entry: JSONValue, _ digest: String, of id: String) -> [UInt8] {
        let document = Base64.text(Digest.sha256(Array(id.utf8)))
        var text = JSONWriter()
        text.object { text in
            var isDue = true
            for member in entry.members {
                guard let name = member.name.string else { continue }
                if isDue, "key" < name {
                    text.member("key", string: "_sync:att2:\(document):\(digest)")
                    isDue = false
                }
                text.member(name, raw: member.value.bytes)
            }
            text.member("ver", integer: 2)
        }
        return text.bytes
    }

    /// - Note: Source: recorded, and `handleGetAttachment` of Sync Gateway: browsers are told to save types that they
    ///   might execute.
    private static func fields(of entry: JSONValue, showsEncoding: Bool) -> [HTTPField] {
        let type = entry["content_type"]?.string ?? "application/octet-stream"
        let runs: Set<String> = ["", "text/html", "application/xhtml+xml", "image/svg+xml"]
        var fields: [HTTPField] = []
        if entry["content_type"]?.string == nil || runs.contains(String(type.prefix { $0 != ";" })) {
            fields.append(HTTPField("Content-Disposition", "attachment"))
        }
        guard let encoding = entry["encoding"]?.string else { return fields + [HTTPField("Content-Type", type)] }
        guard !showsEncoding else {
            return fields + [HTTPField("Content-Type", type), HTTPField("Content-Encoding", encoding)]
        }
        return fields + [HTTPField("Content-Type", "application/gzip"), HTTPField("X-Content-Encoding", encoding)]
    }

    /// Writes a revision with the same body and one attachment added or removed.
    private func editAttachments(
        _ request: Request, _ id: String, _ name: String, adding: Bool
    ) async throws -> Answer {
        let named = request.namedRevision
        let current = try await edited(id, revision: named)
        if current != nil, named == nil {
            throw RequestError(409, "Cannot modify attachments without a specific rev ID")
        }
        var attachments = try current?.attachments.map { try JSONText($0).root.members.compactMap(\.name.string) } ?? []
        // Compared as bytes, because Swift's `==` ignores differences in Unicode normalisation.
        let isNamed = { (other: String) in other.utf8.elementsEqual(name.utf8) }
        guard adding || attachments.contains(where: isNamed) else { throw RequestError.missing }
        attachments.removeAll(where: isNamed)
        var entries = attachments.map(IncomingAttachment.init(keeping:))
        if adding {
            let type = request.field("Content-Type") ?? "application/octet-stream"
            entries.append(try IncomingAttachment(name: name, bytes: request.body, contentType: type))
        }
        entries.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        let document = try IncomingDocument.same(
            body: current?.body ?? Array("{}".utf8), revision: named, attachments: entries)
        let revision = try await store.write(DocumentEdit(id: id, document, isNew: true), as: requestUser)
        return Self.written(id, revision, status: adding ? 201 : 200)
    }

    /// The document whose attachments change. Nil if it does not exist yet.
    private func edited(_ id: String, revision: String?) async throws -> StoredDocument? {
        let document: StoredDocument
        do { document = try stored(id, revision: revision) } catch let error as RequestError
            where error.status == 404
        {
            return nil
        }
        guard requestUser.sees(document.channels) else {
            throw RequestError(404, "Document revision is not accessible")
        }
        return document
    }
}

// MARK: - Contents

extension Router {
    /// Longer contents are read in pieces as the client takes them. SQLite reads a blob from its start for each piece,
    /// so pieces are not small: 20 MiB take 0.4 s in pieces of 1 MiB, and 1.4 s in pieces of 256 KiB.
    private static let pieceLength = 1 << 20

    /// Sets bytes of an attachment as the body of an answer.
    private func add(_ digest: String, _ range: Range<Int>, to answer: inout Answer) async throws {
        // For an empty range SQLite returns no bytes, which would look like a missing content.
        guard !range.isEmpty else {
            answer.body = .whole([])
            return
        }
        guard range.count > Self.pieceLength else {
            guard let content = try store.attachmentContent(digest, range) else { throw RequestError.missing }
            answer.body = .whole(content)
            return
        }
        answer.fields.append(HTTPField("Content-Length", String(range.count)))
        answer.body = .streamed { [store] send in
            for start in stride(from: range.lowerBound, to: range.upperBound, by: Self.pieceLength) {
                let piece = start..<min(start + Self.pieceLength, range.upperBound)
                // The content was removed while it was being sent.
                guard let bytes = try store.attachmentContent(digest, piece) else { throw ConnectionCut() }
                try await send(bytes)
            }
        }
    }

    /// The requested range. Nil for the whole content.
    ///
    /// - Note: Source: RFC 9110, section 14, and `parseHTTPRangeHeader` of Sync Gateway: an invalid range, several
    ///   ranges and a range of everything get the whole content.
    private static func range(_ text: String, of length: Int) throws(RequestError) -> Range<Int>? {
        guard let bounds = bounds(text, of: length) else { return nil }
        guard bounds.start < length, bounds.start < bounds.end else { throw RequestError(416, "") }
        return bounds.end - bounds.start < length ? bounds.start..<bounds.end : nil
    }

    /// The first byte and the one after the last. Nil if the text is not a range.
    private static func bounds(_ text: String, of count: Int) -> (start: Int, end: Int)? {
        guard let match = text.wholeMatch(of: /bytes=(\d*)-(\d*)/) else { return nil }
        let number = { (digits: Substring) in digits.isEmpty ? nil : UInt32(digits).map(Int.init) ?? Int.max - 1 }
        switch (number(match.1), number(match.2)) {
        case (nil, nil): return nil
        case (nil, let last?): return (max(0, count - last), last == 0 ? 0 : count)
        case (let first?, nil): return (first, count)
        case (let first?, let last?): return first <= last ? (first, min(count, last + 1)) : nil
        }
    }
}
