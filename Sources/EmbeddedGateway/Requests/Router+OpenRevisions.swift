internal import LosslessJSON

extension Router {
    /// `GET /DB/ID?open_revs=all|["1-a","2-b"]`: several revisions at once, with their attachments.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    func openRevisions(_ request: Request, _ id: String, _ revisions: String) async throws -> Answer {
        var options = try DocumentOptions(request.query)
        options.attachmentsSince = []
        let names = try await names(revisions, of: id)
        let isMultipart = request.accepts("multipart/")
        var parts = MultipartWriter()
        var list: [UInt8] = []
        for name in names {
            let found = try await found(name, of: id, options)
            if isMultipart { parts.add(found, name) } else { list += Self.line(found, name, isFirst: list.isEmpty) }
        }
        guard isMultipart else { return .json(Array("[\n".utf8) + list + [UInt8(ascii: "]")]) }
        parts.close()
        return Answer(status: 200, fields: [parts.contentType("mixed")], body: .whole(parts.take()))
    }

    private func names(_ revisions: String, of id: String) async throws -> [String] {
        if revisions == "all" {
            guard let leaves = try store.leaves(of: id) else { throw GatewayFault.missing }
            return leaves
        }
        guard let list = try? JSONText(revisions).root, list.kind == .array,
            list.elements.allSatisfy({ $0.kind == .string })
        else { throw GatewayFault(400, "bad open_revs") }
        return list.elements.compactMap(\.string)
    }

    private func found(_ name: String, of id: String, _ options: DocumentOptions) async throws -> OutgoingDocument? {
        do { return try await store.outgoing(stored(id, revision: name), options) } catch is GatewayFault { return nil }
    }

    private static func line(_ found: OutgoingDocument?, _ name: String, isFirst: Bool) -> [UInt8] {
        var line = JSONWriter()
        line.object { line in
            if let found { line.member("ok", raw: found.text) } else { line.member("missing", escaped: name) }
        }
        return Array((isFirst ? "" : ",").utf8) + line.bytes + [UInt8(ascii: "\n")]
    }
}

extension MultipartWriter {
    fileprivate mutating func add(_ found: OutgoingDocument?, _ name: String) {
        if let found { return found.write(to: &self) }
        var missing = JSONWriter()
        missing.object { $0.member("missing", escaped: name) }
        error(missing.bytes)
    }

    /// A part that says why a document is not there.
    mutating func error(_ json: [UInt8]) {
        self.json(json, parameters: "; error=\"true\"")
    }
}

extension DocumentOptions {
    /// - Throws: ``GatewayFault`` 400 for a list that is no list.
    init(_ query: Query) throws(GatewayFault) {
        let known = try Self.list(query, "atts_since")
        if query.flag("revs") {
            historyLimit = query["revs_limit"].flatMap { Int($0) }.map { max(0, $0) } ?? .max
            historyFrom = try Self.list(query, "revs_from") ?? known ?? []
        }
        if query.flag("attachments") { attachmentsSince = known ?? [] }
    }

    private static func list(_ query: Query, _ name: String) throws(GatewayFault) -> [String]? {
        guard let text = query[name] else { return nil }
        guard let list = try? JSONText(text).root, list.kind == .array else {
            throw GatewayFault(400, "\(name) URL param is not a JSON string array")
        }
        return list.elements.compactMap(\.string)
    }
}
