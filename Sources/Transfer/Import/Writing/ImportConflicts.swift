internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Decides between a document of the gateway and one that is imported: `import --policy`.
struct ImportConflicts: Sendable {
    /// What becomes of the document.
    enum Verdict {
        /// There is no policy for it.
        case undecided
        /// The gateway's document stays, or its deletion.
        case keep
        /// The imported one, as it is.
        case replace
        /// A document with these members, and with these attachments of both.
        case write(JSONText, [ImportAttachment])
        case delete
        case setAside(reason: String)
    }

    let policies: ConflictPolicies
    let gateway: Gateway
    let contact: GatewayContact
    let reading: AttachmentReading
    /// Whether an imported document that comes after the existing one is no conflict: it is a restore.
    let admitsSuccessors: Bool

    /// - Parameter missing: The names of the imported attachments that the gateway's document does not have.
    /// - Throws: `RunError`, ``AttachmentError``, `JSONError`, `JSONEditError`, `CancellationError`.
    func verdict(
        on document: ImportDocument, over current: JSONText, _ revision: RevisionID, missing: Set<String>
    ) async throws -> Verdict {
        let incoming = leaf(of: document, try await described(document, current, missing))
        var existing = ConflictLeaf(current, revision: revision.text, after: [])
        if incoming.history.count > 1 || document.text.root["_revisions"] != nil {
            if admitsSuccessors, incoming.history.contains(revision.text) { return .replace }
            let stored = try await contact.ask {
                try await gateway.document(document.id, revision: revision, with: .history)
            }
            existing = stored.flatMap { ConflictLeaf($0) } ?? existing
        }
        if try await isUnedited(incoming, document, [revision.text: current]) { return .keep }
        return try await verdict(on: document, existing, incoming)
    }

    /// The gateway's document is deleted.
    ///
    /// - Throws: As the other one.
    func verdictOnDeletion(of document: ImportDocument) async throws -> Verdict {
        guard let existing = try await contact.winningLeaf(of: document.id, at: gateway), existing.isDeleted,
            !document.isDeletion
        else { return .replace }
        let names = Set(document.attachments.map(\.name))
        let incoming = leaf(of: document, try await described(document, nil, names))
        if admitsSuccessors, incoming.history.contains(existing.revision) { return .replace }
        if try await isUnedited(incoming, document, [:]) { return .keep }
        return try await verdict(on: document, existing, incoming)
    }

    /// A restored document is the revision that it names. Any other may have been edited since, and comes after that.
    private func leaf(of document: ImportDocument, _ text: JSONText) -> ConflictLeaf {
        let stored = ConflictLeaf(text)
        if admitsSuccessors {
            return stored ?? ConflictLeaf(text, revision: document.revision?.text ?? Self.imported, after: [])
        }
        let history = stored?.history ?? document.revision.map { [$0.text] } ?? []
        return ConflictLeaf(text, revision: Self.imported, after: history)
    }

    /// Stands for the revision of a document that has none.
    private static let imported = "imported"

    /// Whether an imported document that is no revision of its own is the one that it names, as far as the gateway still
    /// has that: then whatever happened to the document since is newer.
    private func isUnedited(
        _ incoming: ConflictLeaf, _ document: ImportDocument, _ known: [String: JSONText]
    ) async throws -> Bool {
        guard !admitsSuccessors, !incoming.isDeleted, let revision = document.revision else { return false }
        var base = known[revision.text]
        if base == nil { base = try await revisions([revision.text], of: document.id)[revision.text] }
        guard let base else { return false }
        let conflict = Conflict(ranked: [ConflictLeaf(base, revision: revision.text, after: []), incoming])
        guard conflict.leaves.count == 2 else { return false }
        return ResolvedDocument(leaf: 1, of: conflict)?.isEqual(to: conflict.leaves[0], of: conflict) == true
    }

    private func verdict(
        on document: ImportDocument, _ existing: ConflictLeaf, _ incoming: ConflictLeaf
    ) async throws -> Verdict {
        let conflict = Conflict(ranked: [existing, incoming])
        guard let policy = policies.policy(of: conflict) else { return .undecided }
        let decision = ConflictDecision(conflict: conflict, policy: policy)
        var known = try await revisions(decision.wanted, of: document.id)
        // An old version of the document that the gateway has forgotten: the file that is restored has it.
        if decision.wanted.contains(incoming.revision), known[incoming.revision] == nil {
            known[incoming.revision] = incoming.document
        }
        switch await decision.resolution(by: policies, known: known, now: Timestamp.secondsNow) {
        case .keep(let leaf): return leaf == 0 && !existing.isDeleted ? .keep : .replace
        case .write(let resolved): return try write(resolved, document, existing.document)
        case .delete: return existing.isDeleted ? .keep : .delete
        case .setAside(let reason): return .setAside(reason: reason)
        }
    }

    /// The imported document as the gateway would describe it, so that attachments can be compared.
    private func described(
        _ document: ImportDocument, _ current: JSONText?, _ missing: Set<String>
    ) async throws -> JSONText {
        var written: [WrittenAttachment] = []
        for attachment in document.attachments where attachment.body != .removed {
            let same = missing.contains(attachment.name) ? nil : current?.root["_attachments"]?[attachment.name]
            let head: [UInt8]
            if let same {
                head = Array(same.bytes)
            } else {
                head = try await reading.description(of: attachment, in: document.text, for: gateway.dialect)
            }
            written.append(WrittenAttachment(name: attachment.name, head: head, data: nil))
        }
        return try JSONText(ImportBody(document.text, leavingOut: VersionMembers.made, attachments: written).bytes)
    }

    /// Old revisions that the gateway still has.
    private func revisions(_ wanted: Set<String>, of id: DocumentID) async throws -> [String: JSONText] {
        var known: [String: JSONText] = [:]
        for revision in wanted.sorted() where RevisionID(revision).generation != nil {
            known[revision] = try await contact.ask {
                try await gateway.document(id, revision: RevisionID(revision), with: [])
            }
        }
        return known
    }

    private func write(
        _ resolved: ResolvedDocument, _ document: ImportDocument, _ current: JSONText
    ) throws -> Verdict {
        let stored = try ImportAttachment.all(of: current.root, store: nil)
        let attachments = resolved.attachments.compactMap { name, leaf in
            (leaf == 0 ? stored : document.attachments).first { $0.name.utf8.elementsEqual(name.utf8) }
        }
        var body = JSONWriter()
        body.object { body in
            body.member("_id", string: document.id.text)
            for member in resolved.members.root.members { body.raw(resolved.members.bytes[member.range]) }
        }
        return .write(try JSONText(body.bytes), attachments)
    }
}
