internal import GatewayClient
internal import LosslessJSON
internal import Rules

/// Settles a conflict between what was to be saved and what the gateway has.
struct DraftSettlement {
    enum Result {
        /// The gateway's version stays.
        case theirs
        case write(DocumentDraft)
        /// The policy decides nothing, or the bytes of an attachment are not here.
        case conflict
    }

    private static let (own, other) = (0, 1)

    /// What was to be saved.
    let draft: DocumentDraft
    /// The document that the value was made of; nil for a new one.
    let base: JSONText?
    let policy: ConflictPolicy
    let dialect: GatewayDialect

    /// - Parameter theirs: With `_rev`; nil if the document is deleted.
    /// - Throws: `JSONError` if the result is larger than a document may be.
    func settle(with theirs: JSONText?) async throws -> Result {
        guard let theirs else { return try afterDeletion() }
        let known = base?.root["_rev"]?.string
        let history = known.map { [$0] } ?? []
        let conflict = Conflict(ranked: [
            ConflictLeaf(try described(), revision: "own", after: history),
            ConflictLeaf(theirs, revision: theirs.root["_rev"]?.string ?? "other", after: history),
        ])
        guard let name = policy.ruleName, let policies = try? ConflictPolicies([name], dateMember: policy.dateMember),
            let rule = policies.policy(of: conflict)
        else { return .conflict }
        var ancestors: [String: JSONText] = [:]
        if let known { ancestors[known] = base }
        let resolution = await policies.resolve(conflict, by: rule, ancestors: ancestors, isDeleted: false, now: 0)
        switch resolution {
        case .keep(Self.other): return .theirs
        case .keep: return try merged(draft.body.root, draft.names.map { ($0, Self.own) }, over: theirs)
        case .write(let document): return try merged(document.members.root, document.attachments, over: theirs)
        case .delete, .setAside: return .conflict
        }
    }

    private func afterDeletion() throws -> Result {
        guard policy.kind != .deletesWin, draft.names.count == draft.uploads.count else { return .conflict }
        var body = draft.body
        if body.root["_rev"] != nil { body = try body.removing(JSONPointer(tokens: ["_rev"])) }
        if body.root["_attachments"] != nil { body = try body.removing(JSONPointer(tokens: ["_attachments"])) }
        return .write(DocumentDraft(body: body, uploads: draft.uploads))
    }

    /// The draft with the attachments that it will have, each with its digest.
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

    /// A document after the gateway's one.
    private func merged(
        _ members: JSONValue, _ attachments: [(name: String, leaf: Int)], over theirs: JSONText
    ) throws -> Result {
        var stubs: [(name: String, entry: JSONValue)] = []
        var uploads: [DocumentDraft.Upload] = []
        for (name, leaf) in attachments {
            let stored = theirs.root["_attachments"]?[name]
            if leaf == Self.own, let upload = draft.uploads.first(where: { $0.name == name }) {
                uploads.append(upload)
            } else if let stored, leaf == Self.other || isSame(draft.body.root["_attachments"]?[name], stored) {
                stubs.append((name, stored))
            } else {
                return .conflict
            }
        }
        var body = JSONWriter()
        body.object { body in
            for name in ["_id", "_rev"] {
                if let value = theirs.root[name] { body.member(name, raw: Array(value.bytes)) }
            }
            for member in members.members where member.name.characters.first != UInt8(ascii: "_") {
                body.raw(members.text.bytes[member.range])
            }
            guard !stubs.isEmpty else { return }
            body.name("_attachments")
            body.object { body in
                for stub in stubs { body.member(stub.name, raw: Array(stub.entry.bytes)) }
            }
        }
        return .write(DocumentDraft(body: try JSONText(body.bytes), uploads: uploads))
    }

    /// Whether the attachment of this version is the stored one. One that was saved just now has no digest yet.
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
    /// The policy of `changebot resolve` that does this.
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
    /// Of the attachments that the document will have.
    fileprivate var names: [String] {
        let kept = body.root["_attachments"]?.members.compactMap(\.name.string) ?? []
        return kept + uploads.map(\.name).filter { !kept.contains($0) }
    }
}
