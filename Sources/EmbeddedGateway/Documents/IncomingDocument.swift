internal import LosslessJSON

/// A document as sent by a client, split into what the gateway stores in columns and the bytes that it stores
/// unchanged.
struct IncomingDocument: Sendable {
    /// `_id`. Nil if it is missing or not a string.
    let id: String?
    /// `_rev`.
    var revision: String?
    /// `_cv` of a document with a new revision. Nil if it is missing, empty or not a string.
    let version: String?
    let isDeleted: Bool
    /// `_revisions`, newest first. Nil if it is missing or not valid.
    let history: [StoredRevisionID]?
    /// The object as sent, without the members that are stored separately. `{}` if nothing remains.
    let body: [UInt8]
    /// The input of the revision's digest.
    let canonicalBody: [UInt8]
    let attachments: [IncomingAttachment]
    let channels: [String]
    /// `_exp`: when the document expires, in seconds as in `DocumentExpiry`. Nil if it is missing.
    let expiry: Int?

    /// Members that are not part of the stored body. As in the real gateway, other members that begin with an
    /// underscore are.
    private static let separate: Set<String> = [
        "_id", "_rev", "_deleted", "_attachments", "_revisions", "_cv", "_exp",
    ]

    /// The maximum number of bytes of a body. Sync Gateway 4.1.1 accepts 19 MiB and refuses 20,971,429 bytes: its own
    /// metadata counts towards Couchbase's 20 MiB.
    private static let bodyLimit = 20 << 20 - 1024

    /// - Parameters:
    ///   - isNew: Whether the gateway generates the revision id. Otherwise an invalid `_exp` is an ordinary member, and
    ///     `_cv` is ignored.
    ///   - following: Attachment contents from separate parts of a multipart body, by name.
    /// - Throws: ``RequestError`` 400, 404, 413 or 500, with the real gateway's reasons.
    init(
        _ object: JSONValue, isNew: Bool = true, following: [[UInt8]: [UInt8]] = [:]
    ) throws(RequestError) {
        if isNew { try Self.checkRevision(object) }
        var separate = Self.separate
        do throws(RequestError) { expiry = try object["_exp"].flatMap(Expiry.seconds) } catch {
            guard !isNew else { throw error }
            expiry = nil
            separate.remove("_exp")
        }
        try Self.refuseReserved(object)
        id = object["_id"]?.string
        revision = object["_rev"]?.string
        version = isNew ? object["_cv"]?.string.flatMap { $0.isEmpty ? nil : $0 } : nil
        isDeleted = object["_deleted"]?.bool == true
        history = object["_revisions"].flatMap(RevisionHistory.read)
        attachments = try IncomingAttachment.read(object["_attachments"], following: following)
        channels = DocumentChannels.read(object)
        body = object.bytes(withoutMembers: separate)
        guard body.count <= Self.bodyLimit else { throw .documentTooLarge }
        canonicalBody = CanonicalJSON.object(object, without: separate, tombstone: isDeleted)
    }

    private init(
        revision: String?, isDeleted: Bool, body: [UInt8], canonicalBody: [UInt8],
        attachments: [IncomingAttachment] = [], channels: [String] = []
    ) {
        id = nil
        expiry = nil
        history = nil
        version = nil
        self.revision = revision
        self.isDeleted = isDeleted
        self.body = body
        self.canonicalBody = canonicalBody
        self.attachments = attachments
        self.channels = channels
    }

    /// The tombstone that DELETE writes.
    static func tombstone(of revision: String?) -> IncomingDocument {
        IncomingDocument(
            revision: revision, isDeleted: true, body: Array("{}".utf8),
            canonicalBody: Array(#"{"_deleted":true}"#.utf8))
    }

    /// A stored body with other attachments.
    static func same(
        body: [UInt8], revision: String?, attachments: [IncomingAttachment]
    ) throws -> IncomingDocument {
        let object = try JSONText(body).root
        return IncomingDocument(
            revision: revision, isDeleted: false, body: body,
            canonicalBody: CanonicalJSON.object(object, without: Self.separate, tombstone: false),
            attachments: attachments, channels: DocumentChannels.read(object))
    }

    /// - Note: Source: tried on Sync Gateway 4.1.1: an empty `_rev` is none, and a version (`_cv`) is not accepted
    ///   here.
    private static func checkRevision(_ object: JSONValue) throws(RequestError) {
        guard let text = object["_rev"]?.string, !text.isEmpty, StoredRevisionID(text) == nil else { return }
        throw RequestError(400, "Invalid revision ID")
    }

    private static func refuseReserved(_ object: JSONValue) throws(RequestError) {
        if object["_sync"] != nil {
            throw RequestError(400, "document-top level property '_sync' is a reserved internal property")
        }
        if object["_removed"].map({ $0.kind != .null }) == true {
            throw RequestError(404, "Document revision is not accessible")
        }
        if object["_purged"] != nil {
            throw RequestError(400, "user defined top-level property '_purged' is not allowed in document body")
        }
        if object.members.contains(where: { $0.name.string?.hasPrefix("_sync_") == true }) {
            throw RequestError(
                400,
                "user defined top-level properties that start with '_sync_' are not allowed in document body")
        }
    }
}

/// `_revisions`: `{"start":3,"ids":["c","b","a"]}`.
enum RevisionHistory {
    static func read(_ value: JSONValue) -> [StoredRevisionID]? {
        guard let start = value["start"]?.integer, (1...StoredRevisionID.maxGeneration).contains(start),
            let ids = value["ids"], ids.kind == .array
        else { return nil }
        var history: [StoredRevisionID] = []
        for id in ids.elements {
            guard let digest = id.string, let revision = StoredRevisionID("\(start - history.count)-\(digest)") else {
                return nil
            }
            history.append(revision)
        }
        return history.isEmpty ? nil : history
    }

    static func write(_ history: [StoredRevisionID]) -> [UInt8] {
        var text = JSONWriter()
        text.object { text in
            text.name("ids")
            text.array { text in for revision in history { text.escapedString(revision.digest) } }
            text.member("start", integer: history.first?.generation ?? 0)
        }
        return text.bytes
    }
}

extension JSONValue {
    /// An object's text without these members. The others keep their bytes, including commas and spaces.
    fileprivate func bytes(withoutMembers names: Set<String>) -> [UInt8] {
        let all = Array(members)
        func isKept(_ member: Member) -> Bool {
            guard let name = member.name.utf8, name.first == UInt8(ascii: "_") else { return true }
            return !names.contains(String(decoding: name, as: UTF8.self))
        }
        if all.allSatisfy(isKept) { return all.isEmpty ? Array("{}".utf8) : Array(bytes) }
        var result = [UInt8(ascii: "{")]
        var end = range.lowerBound + 1
        for member in all {
            defer { end = member.range.upperBound }
            guard isKept(member) else { continue }
            if result.count > 1 { result += text.bytes[end..<member.range.lowerBound] }
            result += text.bytes[member.range]
        }
        return result + [UInt8(ascii: "}")]
    }
}
