internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import LosslessJSON
internal import Revisions
internal import Rules

/// Decides between a gateway's document and an imported one: `import --policy`.
struct ImportConflicts: Sendable {
    /// The indices of a resolution's leaves: the gateway's document or its deletion, and the imported document.
    static let (existing, imported) = (0, 1)

    let policies: ConflictPolicies
    let gateway: Gateway
    let contact: GatewayContact
    let reading: AttachmentReading
    /// Whether an imported successor of the existing document is accepted without a conflict, as in a restore.
    let acceptsSuccessors: Bool

    /// - Returns: Nil if no policy applies.
    /// - Parameter missing: The names of the imported attachments that the gateway's document lacks.
    /// - Throws: `RunError`, ``AttachmentError``, `JSONError`, `JSONEditError`, `CancellationError`.
    func resolution(
        of document: ImportDocument, over current: JSONText, _ revision: RevisionID, missing: Set<String>
    ) async throws -> ConflictResolution? {
        let incoming = leaf(of: document, try await described(document, current, missing))
        var existing = ConflictLeaf(current, revision: revision.text, after: [])
        if incoming.history.count > 1 || document.text.root["_revisions"] != nil {
            if acceptsSuccessors, incoming.history.contains(revision.text) { return .keep(Self.imported) }
            let stored = try await contact.ask {
                try await gateway.document(document.id, revision: revision, with: .history)
            }
            existing = stored.flatMap { ConflictLeaf($0) } ?? existing
        }
        if try await isUnedited(incoming, document, [revision.text: current]) { return .keep(Self.existing) }
        return try await resolution(of: document, existing, incoming)
    }

    /// Decides when the gateway's document is deleted.
    ///
    /// - Throws: The same errors as the function above.
    func resolution(againstDeletion document: ImportDocument) async throws -> ConflictResolution? {
        guard let existing = try await contact.winningLeaf(of: document.id, at: gateway), existing.isDeleted,
            !document.isDeletion
        else { return .keep(Self.imported) }
        let names = Set(document.attachments.map(\.name))
        let incoming = leaf(of: document, try await described(document, nil, names))
        if acceptsSuccessors, incoming.history.contains(existing.revision) { return .keep(Self.imported) }
        if try await isUnedited(incoming, document, [:]) { return .keep(Self.existing) }
        return try await resolution(of: document, existing, incoming)
    }

    /// A restored document is the revision that it names. Any other document may have been edited since then, and is a
    /// successor of that revision.
    private func leaf(of document: ImportDocument, _ text: JSONText) -> ConflictLeaf {
        let stored = ConflictLeaf(text)
        if acceptsSuccessors {
            return stored
                ?? ConflictLeaf(text, revision: document.revision?.text ?? Self.placeholderRevision, after: [])
        }
        let history = stored?.history ?? document.revision.map { [$0.text] } ?? []
        return ConflictLeaf(text, revision: Self.placeholderRevision, after: history)
    }

    /// The placeholder for the revision of a document without one.
    private static let placeholderRevision = "imported"

    /// Whether an imported document without its own revision equals the revision that it names, if the gateway still
    /// has that one. All later changes of the gateway's document are then newer.
    private func isUnedited(
        _ incoming: ConflictLeaf, _ document: ImportDocument, _ known: [String: JSONText]
    ) async throws -> Bool {
        guard !acceptsSuccessors, !incoming.isDeleted, let revision = document.revision else { return false }
        var base = known[revision.text]
        if base == nil { base = try await revisions([revision.text], of: document.id)[revision.text] }
        guard let base else { return false }
        let conflict = Conflict(ranked: [ConflictLeaf(base, revision: revision.text, after: []), incoming])
        guard conflict.leaves.count == 2 else { return false }
        return ResolvedDocument(leaf: 1, of: conflict)?.isEqual(to: conflict.leaves[0], of: conflict) == true
    }

    private func resolution(
        of document: ImportDocument, _ existing: ConflictLeaf, _ incoming: ConflictLeaf
    ) async throws -> ConflictResolution? {
        let conflict = Conflict(ranked: [existing, incoming])
        guard let decision = ConflictDecision(conflict, by: policies) else { return nil }
        var known = try await revisions(decision.wanted, of: document.id)
        // The gateway has forgotten this old version of the document, but the restored file has it.
        if decision.wanted.contains(incoming.revision), known[incoming.revision] == nil {
            known[incoming.revision] = incoming.document
        }
        let resolution = await decision.resolution(knowing: known)
        guard existing.isDeleted else { return resolution }
        // A tombstone is not among the leaves to choose from.
        return switch resolution {
        case .keep: .keep(Self.imported)
        case .delete: .keep(Self.existing)
        case .write, .leave: resolution
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
        return try JSONText(
            ImportBody(document.text, leavingOut: VersionMembers.neverAccepted, attachments: written).bytes)
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

    /// The merged result: its text, and the imported document with the attachments of both.
    ///
    /// - Throws: ``AttachmentError``, `JSONError`.
    static func merged(
        _ resolved: ResolvedDocument, _ document: ImportDocument, over current: JSONText
    ) throws -> (document: ImportDocument, text: JSONText) {
        let stored = try ImportAttachment.all(of: current.root, store: nil)
        var merged = document
        merged.attachments = resolved.attachments.compactMap { name, leaf in
            (leaf == existing ? stored : document.attachments).first { $0.name.utf8.elementsEqual(name.utf8) }
        }
        var body = JSONWriter()
        body.object { body in
            body.member("_id", string: document.id.text)
            for member in resolved.members.root.members { body.raw(resolved.members.bytes[member.range]) }
        }
        return (merged, try JSONText(body.bytes))
    }
}
