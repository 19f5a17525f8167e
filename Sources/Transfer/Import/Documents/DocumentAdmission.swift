internal import GatewayClient
internal import LosslessJSON
internal import TodoData

/// Decides without the gateway whether a document can be written.
struct DocumentAdmission: Sendable {
    let mode: ImportMode
    let schema: ImportSettings.Schema?
    let dialect: GatewayDialect
    /// The target's collection; nil for the default one.
    let collection: String?
    let store: AttachmentStore?
    let streamedFrom: Int

    init(_ settings: ImportSettings, gateway: Gateway) {
        mode = settings.mode
        schema = settings.schema
        dialect = gateway.dialect
        let parts = gateway.url.keyspace.pathSegment.split(separator: ".")
        collection = parts.count > 1 ? parts.last.map(String.init) : nil
        store = settings.attachments.map { AttachmentStore($0) }
        streamedFrom = settings.streamedFrom
    }

    func admit(_ text: JSONText, _ origin: ImportOrigin, isShared: Bool = false) -> ImportEntry {
        let id: DocumentID
        do throws(Refusal) { id = try self.id(of: text.root) } catch {
            return .refused(origin, id: text.root["_id"]?.string.map { DocumentID($0) }, reason: error.reason)
        }
        do throws(Refusal) { return .document(try document(text, id, origin, isShared)) } catch {
            return .refused(origin, id: id, reason: error.reason)
        }
    }

    /// In which pass a document is written: documents that others refer to come first.
    func order(_ document: ImportDocument) -> Int {
        schema == nil ? 0 : TodoSchema.order(document.text.root, collection: collection)
    }

    private struct Refusal: Error {
        let reason: String
    }

    private func id(of document: JSONValue) throws(Refusal) -> DocumentID {
        guard let value = document["_id"] else {
            throw Refusal(reason: "it has no _id; a mapping (--map) can give it one")
        }
        guard let text = value.string else {
            let isWrapped = value.kind == .object && value.members.contains { $0.name.string?.hasPrefix("$") == true }
            throw Refusal(
                reason: isWrapped ? "its _id is MongoDB's; read it with --format ejson" : "its _id is not a string")
        }
        if text.isEmpty { throw Refusal(reason: "its _id is empty") }
        if text.utf8.first == UInt8(ascii: "_"), !text.hasPrefix("_design/") {
            throw Refusal(reason: "its _id begins with '_'; only those of _design/ documents may")
        }
        if !dialect.acceptsNullInIDs, text.utf8.contains(0) {
            throw Refusal(reason: "its _id holds U+0000, which \(dialect.name) does not take")
        }
        if !value.isText { throw Refusal(reason: "its _id has a lone surrogate") }
        if !dialect.hasDesignDocuments, text.hasPrefix("_design/") {
            throw Refusal(reason: "\(dialect.name) takes no design documents")
        }
        if let limit = dialect.longestID, text.utf8.count > limit {
            throw Refusal(reason: "its _id has \(text.utf8.count) bytes; \(dialect.name) takes \(limit)")
        }
        return DocumentID(text)
    }

    private func document(
        _ text: JSONText, _ id: DocumentID, _ origin: ImportOrigin, _ isShared: Bool
    ) throws(Refusal) -> ImportDocument {
        let root = text.root
        let isDeletion = root["_deleted"]?.bool == true
        if isDeletion, mode == .insert {
            throw Refusal(reason: "it is a tombstone, and there is nothing to insert; use --mode upsert or restore")
        }
        let revision = root["_rev"]?.string.map { RevisionID($0) }
        if mode == .restore, revision?.generation == nil {
            throw Refusal(reason: "it has no _rev to be restored; export with --revisions, or use --mode upsert")
        }
        try check(root)
        try checkMembers(root)
        var attachments: [ImportAttachment] = []
        if mode != .delete {
            do throws(AttachmentError) { attachments = try ImportAttachment.all(of: root, store: store) } catch {
                throw Refusal(reason: error.reason)
            }
            for attachment in attachments { try check(attachment) }
        }
        let isStreamed = mode != .restore && attachments.contains { $0.isStreamed(from: streamedFrom) }
        return ImportDocument(
            origin: origin, id: id, text: text, revision: revision, isDeletion: isDeletion, attachments: attachments,
            isShared: isShared, isStreamed: isStreamed,
            byteCount: attachments.reduce(text.bytes.count) { $0 + $1.addedByteCount(isStreamed: isStreamed) })
    }

    /// Throws with all violations of the schema, on one line.
    private func check(_ document: JSONValue) throws(Refusal) {
        guard schema != nil, mode != .delete else { return }
        let violations = TodoSchema.check(document, collection: collection)
        guard violations.isEmpty else {
            throw Refusal(reason: violations.map(\.description).joined(separator: "; "))
        }
    }

    /// CouchDB refuses unknown members that begin with an underscore; Sync Gateway keeps them.
    private func checkMembers(_ document: JSONValue) throws(Refusal) {
        guard mode != .delete, let accepted = VersionMembers.accepted(by: dialect) else { return }
        for member in document.members {
            guard let name = member.name.utf8, name.first == UInt8(ascii: "_") else { continue }
            guard !accepted.contains(name) else { continue }
            throw Refusal(
                reason: "\(dialect.name) takes no member '\(String(decoding: name, as: UTF8.self))': "
                    + "members that begin with '_' are its own; a mapping (--map) can remove it")
        }
    }

    /// Refuses attachments that this mode can't write, such as stubs that can only be kept where they exist.
    private func check(_ attachment: ImportAttachment) throws(Refusal) {
        if attachment.name.isEmpty { throw Refusal(reason: "it has an attachment without a name") }
        if attachment.hasBadType {
            throw Refusal(reason: AttachmentError(attachment.name, "has a content_type that is not a string").reason)
        }
        switch (attachment.body, mode) {
        case (.stub(let missing), .insert), (.stub(let missing), .restore):
            throw Refusal(reason: attachment.bareStub(missing).reason)
        case (.removed, .merge): break
        case (.removed, _): throw Refusal(reason: AttachmentError(attachment.name, "is null").reason)
        default: break
        }
    }
}
