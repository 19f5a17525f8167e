internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// A revision after a leaf, with an id and a history of its own: it is stored beside whatever else has happened to the
/// document in the meantime, and so never replaces it.
///
/// The id depends on the leaf and on the content only: two bots that resolve the same conflict make the same revision.
struct NewRevision {
    let id: RevisionID
    private let history: JSONText

    private init(after leaf: ConflictLeaf, content: [UInt8]) {
        let digest = Digest.md5.hex(Array(leaf.revision.utf8) + [0] + content)
        let start = (leaf.document.root["_revisions"]?["start"]?.integer ?? 0) + 1
        id = RevisionID("\(start)-\(digest)")
        var history = JSONWriter()
        history.object { history in
            history.member("start", integer: start)
            history.name("ids")
            history.array { history in
                history.string(digest)
                for old in leaf.document.root["_revisions"]?["ids"]?.elements.map(\.bytes) ?? [] { history.raw(old) }
            }
        }
        self.history = (try? JSONText(history.bytes)) ?? leaf.document
    }

    /// The deletion of a leaf.
    static func tombstone(of leaf: ConflictLeaf, _ id: DocumentID) -> PreparedRevision? {
        let revision = NewRevision(after: leaf, content: Array("deleted".utf8))
        let body = revision.body(id) { $0.member("_deleted", bool: true) }
        return revision.replicated(body, id).map { PreparedRevision($0, $0.text.bytes) }
    }

    /// What was made of several leaves, after the winner.
    ///
    /// - Returns: The revision with stubs of all its attachments; those that the winner has, and those that come from
    ///   other leaves.
    static func resolved(
        _ document: ResolvedDocument, of conflict: Conflict, _ id: DocumentID
    ) -> (revision: ReplicatedRevision, kept: [AttachmentStub], needed: [(stub: AttachmentStub, origin: RevisionID?)])?
    {
        guard let winner = conflict.leaves.first else { return nil }
        var content = document.members.bytes
        for attachment in document.attachments {
            content += entry(attachment, conflict)?.bytes ?? []
        }
        let revision = NewRevision(after: winner, content: content)
        let body = revision.body(id) { body in
            for member in document.members.root.members { body.raw(document.members.bytes[member.range]) }
            guard !document.attachments.isEmpty else { return }
            body.name("_attachments")
            body.object { body in
                for attachment in document.attachments {
                    guard let entry = entry(attachment, conflict) else { continue }
                    body.member(attachment.name, raw: attachment.leaf == 0 ? Array(entry.bytes) : revision.moved(entry))
                }
            }
        }
        guard let replicated = revision.replicated(body, id) else { return nil }
        let stubs = AttachmentStub.all(of: replicated.text.root)
        let origins = Dictionary(
            document.attachments.map { ($0.name, $0.leaf) }, uniquingKeysWith: { first, _ in first })
        return (
            replicated, stubs.filter { origins[$0.name] == 0 },
            stubs.filter { origins[$0.name] != 0 }.map { stub in
                (stub, origins[stub.name].map { RevisionID(conflict.leaves[$0].revision) })
            }
        )
    }

    private static func entry(_ attachment: (name: String, leaf: Int), _ conflict: Conflict) -> JSONValue? {
        conflict.leaves[attachment.leaf].document.root["_attachments"]?[attachment.name]
    }

    /// An attachment's entry with this revision as the one that brought it: replicators go by that.
    private func moved(_ entry: JSONValue) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for member in entry.members where !member.name.isString("revpos") {
                writer.raw(entry.text.bytes[member.range])
            }
            writer.member("revpos", integer: id.generation ?? 1)
        }
        return writer.bytes
    }

    private func body(_ id: DocumentID, _ rest: (inout JSONWriter) -> Void) -> [UInt8] {
        var body = JSONWriter()
        body.object { body in
            body.member("_id", string: id.text)
            body.member("_rev", string: self.id.text)
            body.member("_revisions", raw: history.bytes)
            rest(&body)
        }
        return body.bytes
    }

    private func replicated(_ body: [UInt8], _ id: DocumentID) -> ReplicatedRevision? {
        (try? JSONText(body)).map {
            ReplicatedRevision(text: $0, key: BulkGetKey(id: id, revision: self.id), knownAncestors: [])
        }
    }
}
