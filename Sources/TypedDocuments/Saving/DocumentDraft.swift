internal import GatewayClient
internal import LosslessJSON

/// The document that a save would write.
struct DocumentDraft {
    /// The body with `_id`, and with `_rev` unless it is new.
    let body: JSONText
    /// Attachments to be stored with it. The body still contains the attachments that they replace.
    let uploads: [Upload]
    /// Whether the document already has this content.
    let isUnchanged: Bool

    struct Upload {
        let name: String
        let contentType: String
        let bytes: [UInt8]

        /// The digest as the gateway calculates it.
        func digest(for dialect: GatewayDialect) -> AttachmentDigest {
            var digest = AttachmentDigest.Calculation(for: dialect)
            digest.update(bytes)
            return digest.digest()
        }
    }

    /// Applies the changes of a value since it was read.
    ///
    /// - Parameters:
    ///   - isCollection: Whether documents omit `type` there.
    /// - Throws: `EncodingError` if the value can't be a document; `JSONEditError` if an object to change has a
    ///   duplicate member.
    init<Document: DocumentCodable>(of document: Document, isCollection: Bool) throws {
        let known = document.origin.text
        var encoder = DocumentEncoder()
        encoder.document = known?.root
        let new = try encoder.encode(document)
        guard let known else {
            let body = try Self.complete(
                new.json, id: document.id, type: isCollection ? nil : Document.documentType)
            self.init(body: body, uploads: try new.parts.uploads(nil), isUnchanged: false)
            return
        }
        let old = try encoder.encode(try DocumentDecoder().decode(Document.self, from: known.root))
        var body = try known.applyingChanges(from: old.json.root, to: new.json.root)
        let kept = Set(try new.parts.names(known.root))
        for name in try old.parts.names(known.root) where !kept.contains(name) {
            guard body.root["_attachments"]?[name] != nil else { continue }
            body = try body.removing(JSONPointer(tokens: ["_attachments", name]))
        }
        for name in ["_id", "_rev"]
        where body.root[name].map({ Array($0.bytes) }) != known.root[name].map({ Array($0.bytes) }) {
            throw EncodingError.invalidValue(
                document, .init(codingPath: [], debugDescription: "\(name): a property must not change it"))
        }
        let uploads = try new.parts.uploads(known.root)
        let isUnchanged = body === known && uploads.isEmpty
        // Sync Gateway 4 adds it. Writes are guarded by `_rev`, and the two could be inconsistent.
        if body.root["_cv"] != nil { body = try body.removing(JSONPointer(tokens: ["_cv"])) }
        self.init(body: body, uploads: uploads, isUnchanged: isUnchanged)
    }

    init(body: JSONText, uploads: [Upload], isUnchanged: Bool = false) {
        self.body = body
        self.uploads = uploads
        self.isUnchanged = isUnchanged
    }

    /// A new document, with its id and its type.
    private static func complete(_ json: JSONText, id: DocumentID, type: String?) throws -> JSONText {
        guard json.root.kind == .object else {
            throw EncodingError.invalidValue(
                id, .init(codingPath: [], debugDescription: "a document must be encoded as an object"))
        }
        var text = try json.setting(JSONPointer(tokens: ["_id"]), to: id.text.json)
        if let type, text.root["type"] == nil { text = try text.setting(JSONPointer(tokens: ["type"]), to: type.json) }
        return text
    }

    /// Whether a revision has the same members and attachments.
    func isContent(of other: JSONValue, for dialect: GatewayDialect) -> Bool {
        guard let own = Self.members(of: body.root), let others = Self.members(of: other),
            own.root.isEquivalent(to: others.root)
        else { return false }
        var digests = Self.digests(of: body.root)
        for upload in uploads { digests[upload.name] = upload.digest(for: dialect).description }
        return digests == Self.digests(of: other)
    }

    /// All members except attachments and members that every write changes.
    private static func members(of document: JSONValue) -> JSONText? {
        var writer = JSONWriter()
        writer.object { writer in
            for member in document.members where !["_rev", "_cv", "_attachments"].contains(member.name.string) {
                writer.raw(document.text.bytes[member.range])
            }
        }
        return try? JSONText(writer.bytes)
    }

    /// The digest of each attachment, by its name.
    private static func digests(of document: JSONValue) -> [String: String] {
        guard let stubs = document["_attachments"] else { return [:] }
        return stubs.members.reduce(into: [:]) { digests, member in
            digests[member.name.string ?? ""] = member.value["digest"]?.string ?? ""
        }
    }

    /// The document after it is saved.
    func saved(as revision: RevisionID) throws -> JSONText {
        var text = try body.setting(JSONPointer(tokens: ["_rev"]), to: revision.text.json)
        for upload in uploads {
            if text.root["_attachments"] == nil {
                text = try text.setting(JSONPointer(tokens: ["_attachments"]), to: "{}".utf8)
            }
            var stub = JSONWriter()
            stub.object { stub in
                stub.member("content_type", string: upload.contentType)
                stub.member("length", integer: upload.bytes.count)
                stub.member("revpos", integer: revision.generation ?? 1)
                stub.member("stub", bool: true)
            }
            text = try text.setting(JSONPointer(tokens: ["_attachments", upload.name]), to: stub.bytes)
        }
        return text
    }
}

extension [EncodedPart] {
    /// The attachments among the parts, with their names.
    private func attachments(_ document: JSONValue?) throws -> [(name: String, attachment: Attachment)] {
        try compactMap { found in
            guard let attachment = found.part as? Attachment else { return nil }
            return (try attachment.name(at: DocumentPlace(document: document, path: found.path)), attachment)
        }
    }

    fileprivate func names(_ document: JSONValue?) throws -> [String] { try attachments(document).map(\.name) }

    fileprivate func uploads(_ document: JSONValue?) throws -> [DocumentDraft.Upload] {
        try attachments(document).compactMap { name, attachment in
            guard case .new(let bytes) = attachment.content else { return nil }
            return DocumentDraft.Upload(name: name, contentType: attachment.contentType, bytes: bytes)
        }
    }
}

extension String {
    /// The string as JSON.
    fileprivate var json: [UInt8] {
        var json: [UInt8] = []
        json.appendJSONString(utf8)
        return json
    }
}
