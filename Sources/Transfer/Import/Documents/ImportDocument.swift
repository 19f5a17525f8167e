internal import GatewayClient
internal import LosslessJSON

/// A document that can be written, as far as can be told without asking the gateway.
struct ImportDocument: Sendable {
    let origin: ImportOrigin
    let id: DocumentID
    /// Includes `_id`. Its version members count only in ``ImportMode/restore``.
    let text: JSONText
    /// Its `_rev`; never nil in a restore.
    let revision: RevisionID?
    let isDeletion: Bool
    let attachments: [ImportAttachment]
    /// Made by a mapping, which may make it from several documents; so it is no conflict if it exists.
    let isShared: Bool
    /// It is sent in a request of its own, and its attachments are streamed.
    let isStreamed: Bool
    /// Bytes that it adds to a request.
    let byteCount: Int

    /// Whether an attachment has no bytes, so that the gateway must have it.
    var hasBareStubs: Bool { attachments.contains { $0.isStub } }
}

/// Members that describe the version of a document. They belong to the gateway.
enum VersionMembers {
    /// Members that the gateway generates for each revision.
    static let written: Set<[UInt8]> = made.union([Array("_rev".utf8), Array("_revisions".utf8)])
    /// Members that no gateway accepts, not even in a restore.
    static let made = Set(
        ["_cv", "_conflicts", "_deleted_conflicts", "_revs_info", "_local_seq", "_attachments"].map { Array($0.utf8) })
    /// The members beginning with `_` that the server accepts; nil if it accepts any.
    static func accepted(by dialect: GatewayDialect) -> Set<[UInt8]>? {
        switch dialect {
        case .syncGateway: nil
        case .couchDB: written.union(couchDB)
        }
    }

    /// Others that CouchDB accepts (3.5, `couch_doc.erl`).
    private static let couchDB = Set(
        [
            "_id", "_deleted", "_replication_state", "_replication_state_time", "_replication_state_reason",
            "_replication_id", "_replication_stats",
        ].map { Array($0.utf8) })
    /// Members that are ignored when documents are compared.
    static let names: Set<String> = Set(written.map { String(decoding: $0, as: UTF8.self) }).union(["_id", "_deleted"])
}

/// The body of a document in a request, in segments so that large parts need not be copied.
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
            if isEscaped || Self.isOfGateway(name) { isWhole = false }
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
    private static func isOfGateway(_ name: Span<UInt8>) -> Bool {
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
