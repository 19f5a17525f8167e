internal import Compression
internal import Encodings
internal import GatewayClient
internal import LosslessJSON

/// An attachment of a revision in the simulated gateway.
struct StoredAttachment: Equatable {
    let name: String
    let type: String
    let content: [UInt8]
    let digest: String
    /// The generation that brought it.
    let position: Int

    func isSameContent(as other: StoredAttachment) -> Bool {
        (name, type, content) == (other.name, other.type, other.content)
    }

    /// The stub that documents have, as JSON text.
    var stub: String {
        #""\#(name)":{"content_type":"\#(type)","revpos":\#(position),"digest":"\#(digest)","length":\#(content.count),"stub":true}"#
    }

    /// Whether CouchDB compresses attachments of this type. Their digest is that of the compressed bytes.
    var isCompressed: Bool { type.hasPrefix("text/") }

    /// As CouchDB stores and sends it.
    var compressed: [UInt8] { Self.compress(content) }

    /// With a level of its own: the bot can't tell which settings CouchDB compresses with.
    static func compress(_ content: [UInt8]) -> [UInt8] { Gzip.compress(segments: [content], level: 1) }
}

/// An attachment in a write.
enum WrittenAttachment {
    /// That of the revision which is replaced.
    case stub
    case data(type: String, content: [UInt8])

    var isStub: Bool { if case .stub = self { true } else { false } }

    /// Those of a document that is written, by name; nil if one has neither a stub nor data.
    static func all(of document: JSONValue) -> [String: WrittenAttachment]? {
        var all: [String: WrittenAttachment] = [:]
        for member in document["_attachments"].map({ Array($0.members) }) ?? [] {
            guard let name = member.name.string else { return nil }
            if member.value["stub"]?.bool == true {
                all[name] = .stub
            } else if let data = member.value["data"]?.utf8, let content = try? Base64.decode(data) {
                all[name] = .data(
                    type: member.value["content_type"]?.string ?? "application/octet-stream", content: content)
            } else {
                return nil
            }
        }
        return all
    }
}

extension [StoredAttachment] {
    /// - Parameters:
    ///   - written: Those of the write, by name.
    ///   - parent: Those of the revision that it replaces.
    /// - Returns: Sorted by name; nil if the parent does not have a stub's attachment.
    init?(
        _ written: [String: WrittenAttachment], after parent: [StoredAttachment], generation: Int,
        _ dialect: GatewayDialect
    ) {
        self = []
        for (name, attachment) in written.sorted(by: { $0.key < $1.key }) {
            switch attachment {
            case .stub:
                guard let known = parent.first(where: { $0.name == name }) else { return nil }
                append(known)
            case .data(let type, let content):
                append(
                    StoredAttachment(
                        name: name, type: type, content: content, digest: Self.digest(content, type, dialect),
                        position: generation))
            }
        }
    }

    subscript(name: String) -> StoredAttachment? { first { $0.name == name } }

    /// The member of a document, as JSON text; empty if there are none.
    var member: String { isEmpty ? "" : "\"_attachments\":{\(map(\.stub).joined(separator: ","))}" }

    private static func digest(_ content: [UInt8], _ type: String, _ dialect: GatewayDialect) -> String {
        guard dialect == .couchDB else { return Digest.sha1.attachmentName(content) }
        return Digest.md5.attachmentName(type.hasPrefix("text/") ? StoredAttachment.compress(content) : content)
    }
}
