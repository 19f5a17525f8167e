internal import Encodings
package import GatewayClient
internal import LosslessJSON
package import Rules

/// A revision after a leaf, with its own id and history. It is stored as a branch next to all concurrent changes of the
/// document, and therefore never replaces them.
///
/// The id depends only on the leaf and the content: two bots that resolve the same conflict create the same revision.
package struct NewRevision {
    package let id: RevisionID
    private let history: JSONText

    /// - Parameter history: The value of `_revisions`, beginning with the digest of `id`.
    init(_ id: RevisionID, history: JSONText) {
        self.id = id
        self.history = history
    }

    private init(after leaf: ConflictLeaf, content: [UInt8]) {
        let digest = Self.digest(after: leaf.revision, content: content)
        let start = (leaf.document.root["_revisions"]?["start"]?.integer ?? 0) + 1
        id = RevisionID("\(start)-\(digest)")
        let before = leaf.document.root["_revisions"]?["ids"]?.elements.map { $0.string ?? "" } ?? []
        history = Self.history([digest] + before, start: start) ?? leaf.document
    }

    /// The value of `_revisions`.
    ///
    /// - Parameters:
    ///   - digests: The newest digest comes first.
    ///   - start: The generation of the newest revision.
    static func history(_ digests: [String], start: Int) -> JSONText? {
        var history = JSONWriter()
        history.object { history in
            history.member("start", integer: start)
            history.name("ids")
            history.array { history in for digest in digests { history.string(digest) } }
        }
        return try? JSONText(history.bytes)
    }

    package static func digest(after revision: String, content: [UInt8]) -> String {
        Digest.md5.hex(Array(revision.utf8) + [0] + content)
    }

    /// A deletion of a leaf.
    ///
    /// - Parameter reason: A part of its id, which distinguishes it from other deletions of the same leaf.
    package static func tombstone(
        of leaf: ConflictLeaf, _ id: DocumentID, because reason: String = "deleted"
    ) -> PreparedRevision? {
        NewRevision(after: leaf, content: Array(reason.utf8)).tombstone(of: id).map {
            PreparedRevision($0, $0.text.bytes)
        }
    }

    /// This revision as a deletion.
    package func tombstone(of id: DocumentID) -> ReplicatedRevision? {
        replicated(body(id) { $0.member("_deleted", bool: true) }, id)
    }

    /// The merged result of several leaves, after the winner.
    ///
    /// - Returns: The revision with stubs of all its attachments: the winner's, and those of other leaves.
    static func resolved(
        _ document: ResolvedDocument, of conflict: Conflict, _ id: DocumentID
    ) -> RevisionWithAttachments? {
        guard let winner = conflict.leaves.first else { return nil }
        let revision = NewRevision(after: winner, content: content(of: document, conflict))
        return revision.resolved(document, of: conflict, after: 0, id)
    }

    /// A revision, with the stubs of its attachments: those that its parent has, and those of other leaves.
    package typealias RevisionWithAttachments = (
        revision: ReplicatedRevision, kept: [AttachmentStub], needed: [(stub: AttachmentStub, origin: RevisionID?)]
    )

    /// What distinguishes the document from other merge results of the same leaves.
    ///
    /// An attachment is identified by the leaf that has it: servers of different kinds give it different digests.
    package static func content(of document: ResolvedDocument, _ conflict: Conflict) -> [UInt8] {
        document.members.bytes
            + document.attachments.flatMap { name, leaf in
                [0] + Array(name.utf8) + [0] + Array(conflict.leaves[leaf].revision.utf8)
            }
    }

    /// This revision as the merged result of several leaves.
    ///
    /// - Parameter parent: The leaf that it follows: an index in ``Conflict/leaves``, nil for a deletion.
    package func resolved(
        _ document: ResolvedDocument, of conflict: Conflict, after parent: Int?, _ id: DocumentID
    ) -> RevisionWithAttachments? {
        let body = body(id) { body in
            for member in document.members.root.members { body.raw(document.members.bytes[member.range]) }
            guard !document.attachments.isEmpty else { return }
            body.name("_attachments")
            body.object { body in
                for attachment in document.attachments {
                    guard let entry = Self.entry(attachment, conflict) else { continue }
                    body.member(attachment.name, raw: attachment.leaf == parent ? Array(entry.bytes) : moved(entry))
                }
            }
        }
        guard let replicated = replicated(body, id) else { return nil }
        let stubs = AttachmentStub.all(of: replicated.text.root)
        let origins = Dictionary(
            document.attachments.map { ($0.name, $0.leaf) }, uniquingKeysWith: { first, _ in first })
        return (
            replicated, stubs.filter { origins[$0.name] == parent },
            stubs.filter { origins[$0.name] != parent }.map { stub in
                (stub, origins[stub.name].map { RevisionID(conflict.leaves[$0].revision) })
            }
        )
    }

    private static func entry(_ attachment: (name: String, leaf: Int), _ conflict: Conflict) -> JSONValue? {
        conflict.leaves[attachment.leaf].document.root["_attachments"]?[attachment.name]
    }

    /// An attachment's entry with this revision as its origin, which replicators use.
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
