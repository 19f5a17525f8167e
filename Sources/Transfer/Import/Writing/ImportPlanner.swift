internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Decides what to send for a document, given the gateway's current document.
struct ImportPlanner: Sendable {
    private let gateway: Gateway
    private let settings: ImportSettings
    private let reading: AttachmentReading
    private let rendering: AttachmentRendering
    /// Nil without policies.
    private let conflicts: ImportConflicts?
    private let digests: AttachmentDigests

    init(
        gateway: Gateway, settings: ImportSettings, rendering: AttachmentRendering, contact: GatewayContact,
        logger: Logger
    ) {
        self.gateway = gateway
        self.settings = settings
        self.rendering = rendering
        reading = rendering.reading
        digests = AttachmentDigests(
            gateway, contact, logger, unreadable: "an attachment can't be compared, so it is written again")
        conflicts = settings.policies.map { policies in
            ImportConflicts(
                policies: policies, gateway: gateway, contact: contact, reading: rendering.reading,
                acceptsSuccessors: settings.mode == .restore)
        }
    }

    /// - Throws: `RunError`, `CancellationError`.
    func step(_ open: PendingDocument, acceptsExisting: Bool) async throws -> ImportStep {
        do {
            return try await step(open.document, open.lookup, acceptsExisting)
        } catch let error as AttachmentError {
            return .nothing(.rejected(reason: error.reason))
        } catch let error as JSONEditError {
            return .nothing(.rejected(reason: "\(error)"))
        } catch let error as JSONError {
            return .nothing(.rejected(reason: "\(error)"))
        }
    }

    private func step(_ document: ImportDocument, _ lookup: DocumentLookup?, _ acceptsExisting: Bool) async throws
        -> ImportStep
    {
        switch lookup {
        case .refused(let reason)?: return .nothing(.rejected(reason: "the existing document can't be read: \(reason)"))
        case .deleted?, .missing?:
            let wasRead = conflicts != nil && settings.mode == .insert && document.revision != nil
            guard settings.mode == .restore || wasRead else { return try await newDocument(document, isKnown: true) }
            return try await step(againstDeletion: document)
        case .found(let revision, let current)? where conflicts != nil:
            return try await step(document, inConflictWith: current, revision, acceptsExisting)
        case .found(let revision, let current)?:
            return try await step(document, over: current, revision, acceptsExisting)
        case nil: return try await newDocument(document)
        }
    }

    /// The step for a document that has been deleted.
    ///
    /// - Note: A restore looks documents up only after a conflict.
    private func step(againstDeletion document: ImportDocument) async throws -> ImportStep {
        switch try await conflicts?.resolution(againstDeletion: document) {
        case nil where settings.mode != .insert: return .nothing(.otherLeaf)
        case .leave(let reason)?: return .nothing(.rejected(reason: reason))
        case .keep(ImportConflicts.existing)?, .delete?: return .nothing(.unchanged)
        case .keep?, .write?, nil: return try await newDocument(document, isKnown: true)
        }
    }

    private func step(
        _ document: ImportDocument, inConflictWith current: JSONText, _ revision: RevisionID, _ acceptsExisting: Bool
    ) async throws -> ImportStep {
        let missing = try await compared(document, current, revision, keepsUnnamed: false).missing
        switch try await conflicts?.resolution(of: document, over: current, revision, missing: missing) {
        case nil:
            guard settings.mode == .restore else {
                return try await step(document, over: current, revision, acceptsExisting)
            }
            return .nothing(.otherLeaf)
        case .leave(let reason)?: return .nothing(.rejected(reason: reason))
        case .keep(ImportConflicts.existing)?: return .nothing(.unchanged)
        case .delete?: return .write(Self.tombstone(document, revision, isPlain: !document.isDeletion), .deleted)
        case .keep? where document.isDeletion:
            return .write(Self.tombstone(document, revision, isPlain: false), .deleted)
        case .keep?: return try await change(document, document.text, over: current, revision)
        case .write(let resolved)?:
            let merged = try ImportConflicts.merged(resolved, document, over: current)
            return try await change(merged.document, merged.text, over: current, revision)
        }
    }

    /// - Parameter isKnown: Whether it is known that the document does not exist.
    private func newDocument(_ document: ImportDocument, isKnown: Bool = false) async throws -> ImportStep {
        if isKnown, settings.mode == .delete || document.isDeletion { return .nothing(.unchanged) }
        if let stub = document.attachments.first(where: { $0.isStub }) {
            throw stub.withoutBytes
        }
        let attachments = document.attachments.filter { $0.body != .removed }
        // A patch of a missing document must not leave nulls behind.
        let text =
            settings.mode == .merge
            ? try JSONText("{}").merging(try Self.patch(document.text).root) : document.text
        return try await write(document, text, revision: nil, attachments, keeping: nil, .inserted)
    }

    private func step(
        _ document: ImportDocument, over current: JSONText, _ revision: RevisionID, _ acceptsExisting: Bool
    ) async throws -> ImportStep {
        if settings.mode == .delete || document.isDeletion && settings.mode != .insert {
            return .write(Self.tombstone(document, revision, isPlain: settings.mode == .delete), .deleted)
        }
        if settings.mode == .insert, !acceptsExisting { return .nothing(.alreadyExists) }
        let isMerge = settings.mode == .merge
        let text =
            isMerge
            ? try Self.plain(current).merging(
                try Self.patch(document.text).root, numbersAsWritten: !gateway.dialect.rewritesNumbers)
            : document.text
        // RFC 7396: a null member is removed.
        let keepsUnnamed = isMerge && document.text.root["_attachments"]?.kind != .null
        return try await change(
            document, text, over: current, revision, keepsUnnamed: keepsUnnamed, isAllowed: settings.mode != .insert)
    }

    /// - Parameters:
    ///   - text: The new content of the document.
    ///   - keepsUnnamed: Whether attachments that the document does not name are kept.
    ///   - isAllowed: If false, any difference is a conflict.
    private func change(
        _ document: ImportDocument, _ text: JSONText, over current: JSONText, _ revision: RevisionID,
        keepsUnnamed: Bool = false, isAllowed: Bool = true
    ) async throws -> ImportStep {
        let text = Self.keepingExpiry(text, of: current)
        // The attachments that are kept, and a patch operation for each one that changes.
        let attachments = try await compared(document, current, revision, keepsUnnamed: keepsUnnamed)
        var patch = JSONPatch.difference(
            from: current.root, to: text.root, leavingOut: VersionMembers.names,
            numbersAsWritten: !gateway.dialect.rewritesNumbers
        )
        patch = JSONPatch(operations: patch.operations + attachments.operations)
        if patch.operations.isEmpty { return .nothing(.unchanged) }
        guard isAllowed else { return .nothing(.alreadyExists) }
        return try await write(
            document, text, revision: revision, attachments.written, keeping: current,
            .changed(settings.preview == nil ? [] : patch.json))
    }

    /// A document without an expiry keeps the gateway's. An equal expiry is spelled as on the gateway.
    private static func keepingExpiry(_ text: JSONText, of current: JSONText) -> JSONText {
        guard let expiry = current.root[DocumentExpiry.member] else { return text }
        if let own = text.root[DocumentExpiry.member] {
            let now = Timestamp.secondsNow
            guard let time = own.expiryTime(now: now), time == expiry.expiryTime(now: now) else { return text }
        }
        return text.expiring(Array(expiry.bytes))
    }

    private func compared(
        _ document: ImportDocument, _ current: JSONText, _ revision: RevisionID, keepsUnnamed: Bool
    ) async throws -> AttachmentComparison.Result {
        try await AttachmentComparison(
            document: document, current: current, keepsUnnamed: keepsUnnamed, reading: reading,
            dialect: gateway.dialect,
            currentDigest: { [digests] name, other in
                try await digests.digest(of: name, document.id, revision, like: other)
            }
        ).run()
    }

    /// - Parameters:
    ///   - attachments: The attachments of the new document.
    ///   - current: The gateway's document, which has the attachments of bare stubs.
    private func write(
        _ document: ImportDocument, _ text: JSONText, revision: RevisionID?, _ attachments: [ImportAttachment],
        keeping current: JSONText?, _ outcome: ImportOutcome
    ) async throws -> ImportStep {
        var sentAlone: [StreamedAttachment] = []
        var written: [WrittenAttachment] = []
        if settings.showsDocuments { written = try await rendering.described(attachments, document.text, current) }
        for attachment in attachments where settings.preview == nil {
            if document.isStreamed, let streamed = try await rendering.streamed(attachment, of: document.text) {
                sentAlone.append(streamed)
            } else {
                written.append(try await rendering.rendered(attachment, document.text, current))
            }
        }
        let body = ImportBody(text, leavingOut: VersionMembers.generated, revision: revision, attachments: written)
        return sentAlone.isEmpty ? .write(body, outcome) : .stream(body, sentAlone, outcome)
    }

    /// The document without version members and attachments.
    private static func plain(_ document: JSONText) throws -> JSONText {
        try JSONText(ImportBody(document, leavingOut: VersionMembers.generated).bytes)
    }

    /// The imported document as a merge patch.
    private static func patch(_ document: JSONText) throws -> JSONText { try plain(document) }

    /// - Parameter isPlain: Whether the tombstone contains only the document's id.
    private static func tombstone(_ document: ImportDocument, _ revision: RevisionID, isPlain: Bool) -> ImportBody {
        guard isPlain else {
            return ImportBody(document.text, leavingOut: VersionMembers.generated, revision: revision)
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

/// What to do for a document.
enum ImportStep {
    case nothing(ImportOutcome)
    /// Send this body. The outcome applies if it is accepted.
    case write(ImportBody, ImportOutcome)
    /// Send this body with streamed attachments. The outcome applies if it is accepted.
    case stream(ImportBody, [StreamedAttachment], ImportOutcome)

    var outcome: ImportOutcome {
        switch self {
        case .nothing(let outcome), .write(_, let outcome), .stream(_, _, let outcome): outcome
        }
    }

    var body: ImportBody? {
        switch self {
        case .nothing: nil
        case .write(let body, _), .stream(let body, _, _): body
        }
    }
}

/// An attachment to stream; its bytes were checked.
struct StreamedAttachment: Sendable {
    let name: String
    let contentType: String
    let digest: AttachmentDigest
    let byteCount: Int
    /// Makes a new source for each attempt to send it.
    let source: @Sendable () -> ByteSource?
}

extension ImportBody {
    var bytes: [UInt8] { Array(segments.joined()) }
}

/// Members that describe the version of a document. The gateway manages them.
enum VersionMembers {
    /// Members that the gateway generates for each revision.
    static let generated: Set<[UInt8]> = neverAccepted.union([Array("_rev".utf8), Array("_revisions".utf8)])
    /// Members that no gateway accepts, not even in a restore.
    static let neverAccepted = Set(
        ["_cv", "_conflicts", "_deleted_conflicts", "_revs_info", "_local_seq", "_attachments"].map { Array($0.utf8) })
    /// The members beginning with `_` that the server accepts; nil if it accepts any.
    static func accepted(by dialect: GatewayDialect) -> Set<[UInt8]>? {
        switch dialect {
        case .syncGateway: nil
        case .couchDB: generated.union(couchDB)
        }
    }

    /// Other members that CouchDB accepts (3.5, `couch_doc.erl`).
    private static let couchDB = Set(
        [
            "_id", "_deleted", "_replication_state", "_replication_state_time", "_replication_state_reason",
            "_replication_id", "_replication_stats",
        ].map { Array($0.utf8) })
    /// Members that are ignored when documents are compared.
    static let names = Set(generated.map { String(decoding: $0, as: UTF8.self) }).union(["_id", "_deleted"])
}

/// The body of a document in a request. It consists of segments so that large parts need not be copied.
struct ImportBody {
    private(set) var segments: [[UInt8]] = []
    private var open: [UInt8] = []
    private var hasMembers = false

    /// A finished body.
    init(_ bytes: [UInt8]) { segments = [bytes] }

    /// - Parameters:
    ///   - leftOut: Members of the document to leave out. Should include `_attachments`.
    ///   - revision: The revision to replace; nil for none.
    ///   - attachments: If empty, there is no `_attachments`.
    init(
        _ document: JSONText, leavingOut leftOut: Set<[UInt8]>, revision: RevisionID? = nil,
        attachments: [WrittenAttachment] = []
    ) {
        let root = document.root
        var isWhole = true
        root.forEachMember { name, isEscaped, _ in
            if isEscaped || Self.isReserved(name) { isWhole = false }
        }
        if isWhole, revision == nil, attachments.isEmpty, root.range == document.bytes.indices {
            segments = [document.bytes]
            return
        }
        if isWhole {
            open = Array(root.bytes.dropLast())
            hasMembers = root.childCount > 0
        } else {
            open = [UInt8(ascii: "{")]
            for member in root.members where !leftOut.contains(member.name.utf8 ?? []) {
                append(document.bytes[member.range])
            }
        }
        if let revision {
            var value = Array(#""_rev":"#.utf8)
            value.appendJSONString(revision.text.utf8)
            append(value[...])
        }
        if !attachments.isEmpty { append(attachments) }
        open.append(UInt8(ascii: "}"))
        segments.append(open)
        open = []
    }

    /// Whether the name begins with `_` and is not `_id`.
    private static func isReserved(_ name: Span<UInt8>) -> Bool {
        guard name.count > 0, name[0] == UInt8(ascii: "_") else { return false }
        return !(name.count == 3 && name[1] == UInt8(ascii: "i") && name[2] == UInt8(ascii: "d"))
    }

    private mutating func append(_ member: ArraySlice<UInt8>) {
        if hasMembers { open.append(UInt8(ascii: ",")) }
        hasMembers = true
        open += member
    }

    private mutating func append(_ attachments: [WrittenAttachment]) {
        append(Array(#""_attachments":{"#.utf8)[...])
        for (index, attachment) in attachments.enumerated() {
            if index > 0 { open.append(UInt8(ascii: ",")) }
            open.appendJSONString(attachment.name.utf8)
            open.append(UInt8(ascii: ":"))
            open += attachment.head
            guard let data = attachment.data else { continue }
            segments.append(open)
            segments.append(data)
            open = Array(#""}"#.utf8)
        }
        open.append(UInt8(ascii: "}"))
    }
}

/// An attachment as written in a request's body.
struct WrittenAttachment: Sendable {
    let name: String
    /// Its whole value; if there is ``data``, only up to the quote before it.
    let head: [UInt8]
    /// Base64.
    let data: [UInt8]?
}
