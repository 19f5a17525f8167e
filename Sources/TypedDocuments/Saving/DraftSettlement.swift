internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Settles a conflict between a draft and the gateway's version.
struct DraftSettlement {
    /// The indices of a resolution's leaves: the draft and the gateway's version.
    static let (own, other) = (0, 1)

    /// The draft to be saved.
    let draft: DocumentDraft
    /// The document that the value was read from; nil for a new one.
    let base: JSONText?
    let policy: ConflictPolicy
    let dialect: GatewayDialect

    /// - Parameter theirs: The gateway's version with `_rev`; nil if the document is deleted.
    /// - Throws: `JSONError` if the draft is larger than a document may be.
    func resolution(with theirs: JSONText?) async throws -> ConflictResolution {
        guard let theirs else { return policy.kind == .deletesWin ? .delete : .keep(Self.own) }
        let known = base?.root["_rev"]?.string
        let history = known.map { [$0] } ?? []
        let conflict = Conflict(ranked: [
            ConflictLeaf(try described(), revision: "own", after: history),
            ConflictLeaf(theirs, revision: theirs.root["_rev"]?.string ?? "other", after: history),
        ])
        guard let name = policy.ruleName, let policies = try? ConflictPolicies([name], dateMember: policy.dateMember),
            let rule = policies.policy(of: conflict)
        else { return .leave(reason: "there is no policy for it") }
        var ancestors: [String: JSONText] = [:]
        if let known { ancestors[known] = base }
        return await policies.resolve(conflict, by: rule, ancestors: ancestors, isDeleted: false, now: 0)
    }

    /// The draft that makes the gateway's document match the decision.
    ///
    /// - Returns: Nil if there is nothing to write, or if the bytes of an attachment are not available.
    /// - Throws: `JSONError` if it is larger than a document may be.
    func draft(of resolution: ConflictResolution, over theirs: JSONText?) throws -> DocumentDraft? {
        switch resolution {
        case .keep(Self.own):
            guard let theirs else { return try newDocument() }
            guard let members = ResolvedDocument.members(of: draft.body.root) else { return nil }
            let own = ResolvedDocument(members: members, attachments: draft.names.map { ($0, Self.own) })
            return try merged(own, over: theirs)
        case .write(let document): return try theirs.flatMap { try merged(document, over: $0) }
        case .keep, .delete, .leave: return nil
        }
    }

    /// The draft as a new document on the gateway.
    private func newDocument() throws -> DocumentDraft? {
        guard draft.names.count == draft.uploads.count else { return nil }
        var body = draft.body
        for name in ["_rev", "_attachments"] where body.root[name] != nil {
            body = try body.removing(JSONPointer(tokens: [name]))
        }
        return DocumentDraft(body: body, uploads: draft.uploads)
    }

    /// The draft with all its attachments, each with its digest.
    private func described() throws -> JSONText {
        var text = draft.body
        for upload in draft.uploads {
            if text.root["_attachments"] == nil {
                text = try text.setting(JSONPointer(tokens: ["_attachments"]), to: Array("{}".utf8))
            }
            var entry = JSONWriter()
            entry.object { entry in
                entry.member("content_type", string: upload.contentType)
                entry.member("digest", string: upload.digest(for: dialect).description)
            }
            text = try text.setting(JSONPointer(tokens: ["_attachments", upload.name]), to: entry.bytes)
        }
        return text
    }

    /// A successor of the gateway's document.
    private func merged(_ document: ResolvedDocument, over theirs: JSONText) throws -> DocumentDraft? {
        var stubs: [(name: String, entry: JSONValue)] = []
        var uploads: [DocumentDraft.Upload] = []
        for (name, leaf) in document.attachments {
            let stored = theirs.root["_attachments"]?[name]
            if leaf == Self.own, let upload = draft.uploads.first(where: { $0.name == name }) {
                uploads.append(upload)
            } else if let stored, leaf == Self.other || isSame(draft.body.root["_attachments"]?[name], stored) {
                stubs.append((name, stored))
            } else {
                return nil
            }
        }
        var body = JSONWriter()
        body.object { body in
            for name in ["_id", "_rev"] {
                if let value = theirs.root[name] { body.member(name, raw: Array(value.bytes)) }
            }
            for member in document.members.root.members { body.raw(document.members.bytes[member.range]) }
            guard !stubs.isEmpty else { return }
            body.name("_attachments")
            body.object { body in
                for stub in stubs { body.member(stub.name, raw: Array(stub.entry.bytes)) }
            }
        }
        return DocumentDraft(body: try JSONText(body.bytes), uploads: uploads)
    }

    /// Whether this side's attachment equals the stored one. An attachment that was just saved has no digest yet.
    private func isSame(_ own: JSONValue?, _ stored: JSONValue) -> Bool {
        guard let own else { return false }
        guard let digest = own["digest"]?.string else {
            return own["length"]?.integer == stored["length"]?.integer
                && own["revpos"]?.integer == stored["revpos"]?.integer
        }
        return stored["digest"]?.isString(digest) == true
    }
}

extension ConflictPolicy {
    /// The corresponding policy of `changebot resolve`.
    fileprivate var ruleName: String? {
        switch kind {
        case .report, .declared: nil
        case .merge: "merge"
        case .lastUpdateWins: "last-update-wins"
        case .deletesWin: "deletes-win"
        }
    }
}

extension DocumentDraft {
    /// The names of the document's attachments.
    fileprivate var names: [String] {
        let kept = body.root["_attachments"]?.members.compactMap(\.name.string) ?? []
        return kept + uploads.map(\.name).filter { !kept.contains($0) }
    }
}
