internal import GatewayClient
internal import LosslessJSON

/// A document that can be written, as far as can be told without the gateway.
struct ImportDocument: Sendable {
    let origin: ImportOrigin
    let id: DocumentID
    /// With its `_id`; whatever version it names counts in ``ImportMode/restore`` only.
    let text: JSONText
    /// Its own; a restore needs it.
    let revision: RevisionID?
    let isDeletion: Bool
    let attachments: [ImportAttachment]
    /// A mapping makes it of several documents: that it is there already is no conflict.
    let isShared: Bool
    /// It is sent alone, its attachments while they are read.
    let isStreamed: Bool
    /// Bytes that a request has for it.
    let byteCount: Int

    /// Whether an attachment comes without its bytes: the document can only keep one that the gateway has.
    var hasBareStubs: Bool { attachments.contains { $0.isStub } }
}

/// Members that say which version of a document this is. They are the gateway's.
enum VersionMembers {
    /// What the gateway makes anew for each revision.
    static let written: Set<[UInt8]> = made.union([Array("_rev".utf8), Array("_revisions".utf8)])
    /// What no gateway takes, not even together with a revision of its own.
    static let made = Set(
        ["_cv", "_conflicts", "_deleted_conflicts", "_revs_info", "_local_seq", "_attachments"].map { Array($0.utf8) })
    /// Those that begin with `_` and that the server accepts; nil if it accepts any.
    static func accepted(by dialect: GatewayDialect) -> Set<[UInt8]>? {
        switch dialect {
        case .syncGateway: nil
        case .couchDB: written.union(couchDB)
        }
    }

    /// Further ones that CouchDB knows (3.5, `couch_doc.erl`).
    private static let couchDB = Set(
        [
            "_id", "_deleted", "_replication_state", "_replication_state_time", "_replication_state_reason",
            "_replication_id", "_replication_stats",
        ].map { Array($0.utf8) })
    /// What is no difference between two documents.
    static let names: Set<String> = Set(written.map { String(decoding: $0, as: UTF8.self) }).union(["_id", "_deleted"])
}

/// The body of a document as a request has it: in pieces, so that what is large need not be copied.
struct ImportBody {
    private(set) var segments: [[UInt8]] = []
    private var open: [UInt8] = []
    private var hasMembers = false

    /// A body that is written down already.
    init(_ bytes: [UInt8]) { segments = [bytes] }

    /// - Parameters:
    ///   - leftOut: Members of the document that are not written. `_attachments` should be among them.
    ///   - revision: The one to be replaced.
    ///   - attachments: As they are written; none: there is no such member.
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

    /// Whether a member that begins with `_` and is not `_id` has this name.
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

/// An attachment as it stands in the body of a request.
struct WrittenAttachment: Sendable {
    let name: String
    /// All of its value; up to the quote before ``data`` if there is some.
    let head: [UInt8]
    /// Base64.
    let data: [UInt8]?
}
