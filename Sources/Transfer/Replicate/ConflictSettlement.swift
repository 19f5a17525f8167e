internal import DocumentFlow
internal import Encodings
internal import GatewayClient
internal import Locking
internal import Logging
internal import LosslessJSON
internal import Revisions
internal import Rules

/// What a two-way replication needs to settle conflicts.
struct SettlementContext: Sendable {
    let policies: ConflictPolicies
    /// The settings of the opposite direction.
    let back: ReplicationSettings
    /// Prevent both directions from settling the same document's conflict at the same time.
    private let locks: [TaskLock]

    init(policies: ConflictPolicies, back: ReplicationSettings, locks: [TaskLock]) {
        self.policies = policies
        self.back = back
        self.locks = locks
    }

    /// The locks of one two-way replication.
    static func makeLocks() -> [TaskLock] { (0..<61).map { _ in TaskLock() } }

    func lock(for id: DocumentID) -> TaskLock { locks[Int(id.hashValue.magnitude % UInt(locks.count))] }
}

/// Settles conflicts between a leaf of the source and the only leaf that the target keeps: `replicate --both-ways
/// --policy`.
///
/// First the target gets a new revision after its leaf, unless its leaf wins. Then the source gets the target's
/// revision. Only then the source's own leaf is deleted. If the process is killed in between, neither end loses an edit
/// or shows the document as deleted. The next run continues where this one stopped.
///
/// If the source also keeps one leaf, it can't store a second revision. It gets the new one after its leaf, under the
/// same id, so nothing has to be deleted.
final class ConflictSettlement: Sendable {
    private let source: ReplicationEnd
    private let target: ReplicationEnd
    private let settling: SettlementContext
    private let report: ReplicationReport
    private let back: RevisionTransfer
    private let preparation: RevisionPreparation
    private let sourceReader: RevisionsReader
    private let targetReader: RevisionsReader
    private let sourceSender: RevisionSender
    private let targetSender: RevisionSender
    private let mapsDocuments: Bool

    init(
        from source: ReplicationEnd, to target: ReplicationEnd, _ settings: ReplicationSettings,
        _ settling: SettlementContext, preparation: RevisionPreparation, sender: RevisionSender,
        report: ReplicationReport, logger: Logger
    ) {
        self.source = source
        self.target = target
        self.settling = settling
        self.preparation = preparation
        self.report = report
        back = RevisionTransfer(from: target, to: source, settling.back, report: report, logger: logger)
        sourceReader = RevisionsReader(gateway: source.gateway, contact: source.contact)
        targetReader = RevisionsReader(gateway: target.gateway, contact: target.contact)
        sourceSender = RevisionSender(gateway: source.gateway, retries: settings.sourceRetries, logger: logger)
        targetSender = sender
        mapsDocuments = settings.mapping != nil
    }

    /// - Parameter refused: A leaf of the source, as it was sent to the target.
    /// - Returns: Nil if there is no policy for the document.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`. The conflict may be settled in part.
    func settle(_ refused: ReplicatedRevision) async throws -> ConflictResult? {
        guard let ours = ConflictLeaf(refused.text) else { return .left(reason: "its history can't be read") }
        return try await settling.lock(for: refused.key.id).withLock {
            for _ in 0..<AttemptLimits.conflicts {
                try Task.checkCancellation()
                let end = try await settle(ours, refused)
                if end != .changed { return end }
            }
            return .left(reason: "both ends keep changing it")
        }
    }

    private func settle(_ ours: ConflictLeaf, _ refused: ReplicatedRevision) async throws -> ConflictResult? {
        let id = refused.key.id
        guard try await isLeaf(ours.revision, of: id) else { return .nothing }
        guard let theirs = try await target.contact.winningLeaf(of: id, at: target.gateway) else {
            return .left(reason: "the target did not return its current revision")
        }
        if theirs.history.contains(ours.revision) || ours.isDeleted && theirs.isDeleted { return .nothing }
        let pair = LeafPair(ours: ours, theirs: theirs)
        if SettlingRevision.hasSettled(ours.revision, in: theirs) {
            return try await finish(pair, RevisionID(theirs.revision), id)
        }
        if SettlingRevision.hasSettled(theirs.revision, in: ours),
            let end = try await append(refused, after: theirs, .target, id)
        {
            return end
        }
        // An earlier settlement made this tombstone: it is not a deletion by a user.
        let isKnown = ours.isDeleted ? try await isLeaf(theirs.revision, of: id) : false
        guard !isEndOfBranch(ours) else {
            return isKnown ? .nothing : try await copyToSource(RevisionID(theirs.revision), pair, id)
        }
        guard let resolution = try await resolution(of: pair, id) else { return nil }
        return try await carryOut(resolution, pair, isKnown: isKnown, id)
    }

    /// - Parameter isKnown: Whether the source has the target's leaf and another, deleted leaf.
    private func carryOut(
        _ resolution: ConflictResolution, _ pair: LeafPair, isKnown: Bool, _ id: DocumentID
    ) async throws -> ConflictResult {
        let theirs = pair.theirs
        switch resolution {
        case .leave(let reason): return .left(reason: reason)
        case .delete where theirs.isDeleted: return try await finish(pair, RevisionID(theirs.revision), id)
        case .delete: return try await write(nil, pair, id)
        case .keep(let leaf):
            let kept = pair.conflict.leaves[leaf]
            guard kept.revision == theirs.revision else { return try await write(.leaf(kept, leaf), pair, id) }
            // The deletion does not win, and the other end already has the winning revision.
            return isKnown ? .nothing : try await finish(pair, RevisionID(theirs.revision), id)
        case .write(let document): return try await write(document, pair, id)
        }
    }

    // MARK: - Reading

    private func isLeaf(_ revision: String, of id: DocumentID) async throws -> Bool {
        try await source.contact.leaves(of: id, at: source.gateway)
            .contains { $0.root["_rev"]?.isString(revision) == true }
    }

    /// An ancestor is read from the target: with a mapping, the source's documents have another shape.
    ///
    /// - Returns: Nil if there is no policy for the document.
    private func resolution(of pair: LeafPair, _ id: DocumentID) async throws -> ConflictResolution? {
        let commonHistory = pair.commonHistory
        guard var decision = ConflictDecision(commonHistory.pair.conflict, by: settling.policies) else { return nil }
        var known = try await targetReader.revisions(decision.wanted, of: id)
        let missing = decision.wanted.subtracting(known.keys)
        for (revision, text) in try await sourceReader.revisions(missing, of: id)
        where !mapsDocuments || text.root["_deleted"]?.bool == true || revision != commonHistory.ancestor {
            known[revision] = text
        }
        decision.conflict = commonHistory.comparable(by: commonHistory.ancestor.flatMap { known[$0] })
        return await decision.resolution(knowing: known)
    }

    // MARK: - Writing

    /// Stores the decision at the target, then at the source.
    ///
    /// - Parameter document: Nil to delete it.
    private func write(_ document: ResolvedDocument?, _ pair: LeafPair, _ id: DocumentID) async throws -> ConflictResult
    {
        let content = document.map { NewRevision.content(of: $0, pair.conflict) } ?? Array("deleted".utf8)
        let revision = SettlingRevision.of(pair, content: content)
        switch try await prepare(revision, document, pair, id) {
        case .failure(let unreadable): return .left(reason: unreadable.reason)
        case .success(let prepared):
            let end = try await store(prepared, .target)
            return end == .resolved ? try await finish(pair, revision.id, id) : end
        }
    }

    private func prepare(
        _ revision: NewRevision, _ document: ResolvedDocument?, _ pair: LeafPair, _ id: DocumentID
    ) async throws -> Result<PreparedRevision, RevisionPreparation.Unreadable> {
        guard let document else {
            let tombstone = revision.tombstone(of: id).map { PreparedRevision($0, $0.text.bytes) }
            return tombstone.map { .success($0) } ?? .failure(.notMergeable)
        }
        let parent = pair.conflict.leaves.firstIndex { $0.revision == pair.theirs.revision }
        guard let new = revision.resolved(document, of: pair.conflict, after: parent, id) else {
            return .failure(.notMergeable)
        }
        return try await preparation.prepare(new, from: "source")
    }

    /// Copies the target's revision to the source, then deletes the source's leaf.
    private func finish(_ pair: LeafPair, _ revision: RevisionID, _ id: DocumentID) async throws -> ConflictResult {
        let end = try await copyToSource(revision, pair, id)
        // The source may store it after its own leaf.
        guard end == .resolved, !pair.ours.isDeleted, try await isLeaf(pair.ours.revision, of: id),
            let endOfBranch = NewRevision.tombstone(of: pair.ours, id, because: Self.endOfBranch)
        else { return end }
        return try await store(endOfBranch, .source, as: "a deletion")
    }

    private static let endOfBranch = "settled"

    private func isEndOfBranch(_ leaf: ConflictLeaf) -> Bool {
        guard leaf.isDeleted, let parent = leaf.parent else { return false }
        let digest = NewRevision.digest(after: parent, content: Array(Self.endOfBranch.utf8))
        return leaf.revision.drop { $0 != "-" }.dropFirst() == digest
    }

    /// Copies a revision from the target to the source.
    private func copyToSource(_ revision: RevisionID, _ pair: LeafPair, _ id: DocumentID) async throws -> ConflictResult
    {
        let refused = try await back.transfer([ChangedDocument(id: id, revisions: [revision])])
        if let refused = refused.first {
            if let end = try await append(refused, after: pair.ours, .source, id) { return end }
            return try await makeSuccessor(refused, pair, id)
        }
        let differences = try await source.contact.ask {
            try await source.gateway.revisionDifferences([(id: id, revisions: [revision])])
        }
        guard differences.allSatisfy(\.missing.isEmpty) else {
            return .left(reason: "the source did not accept the target's revision")
        }
        return .resolved
    }

    /// Makes a new revision at the target: the generation of the target's leaf is too low to follow the source's leaf.
    private func makeSuccessor(_ revision: ReplicatedRevision, _ pair: LeafPair, _ id: DocumentID) async throws
        -> ConflictResult
    {
        guard pair.theirs.revision == revision.key.revision?.text else { return .changed }
        // Nothing to do if both are deleted.
        guard !pair.theirs.isDeleted else { return .resolved }
        let leaf = pair.conflict.leaves.firstIndex { $0.revision == pair.theirs.revision } ?? 0
        return try await write(.leaf(pair.theirs, leaf), pair, id)
    }

    private enum Side: String { case source, target }

    /// Stores a revision of the other end after the only leaf of this end, under the same id.
    ///
    /// - Returns: Nil if its generation is too low.
    private func append(
        _ revision: ReplicatedRevision, after leaf: ConflictLeaf, _ side: Side, _ id: DocumentID
    ) async throws -> ConflictResult? {
        guard let new = revision.key.revision, let history = SettlingRevision.history(of: new, after: leaf),
            let text = try? revision.text.setting(JSONPointer(tokens: ["_revisions"]), to: history.bytes)
        else { return nil }
        let moved = ReplicatedRevision(text: text, key: revision.key, knownAncestors: [])
        let needed = AttachmentStub.all(of: text.root).map { (stub: $0, origin: revision.key.revision) }
        let preparation = side == .source ? back.preparation : preparation
        switch try await preparation.prepare((moved, [], needed), from: "other end") {
        case .failure(let unreadable): return .left(reason: unreadable.reason)
        case .success(let prepared): return try await store(prepared, side)
        }
    }

    /// - Parameter what: The subject of a refusal's reason.
    private func store(
        _ prepared: PreparedRevision, _ side: Side, as what: String = "its new revision"
    ) async throws -> ConflictResult {
        let prepared = try await keepingExpiry(prepared, side)
        let last = Locked<RevisionBatch.Answer?>(nil)
        let note: RevisionBatch.Note = { [report] revision, answer in
            if case .stored = answer { report.noteWritten(revision) }
            last.withLock { $0 = answer }
        }
        let sender = side == .source ? sourceSender : targetSender
        var batch = sender.makeBatch()
        try await batch.store(prepared, note)
        try await batch.storeGathered(note)
        await report.note(sender)
        switch last.withLock({ $0 }) {
        case .stored?: return .resolved
        case .refused(isConflict: true, _)?: return .changed
        case .refused(isConflict: false, let reason)?: return .left(reason: "the \(side) refused \(what): \(reason)")
        case nil: return .left(reason: "the \(side) refused \(what): it lacks an attachment")
        }
    }

    /// The document keeps its expiry at this end, or else gets the other end's expiry.
    private func keepingExpiry(_ prepared: PreparedRevision, _ side: Side) async throws -> PreparedRevision {
        let ends = side == .source ? [source, target] : [target, source]
        guard !prepared.revision.isDeleted, ends[0].gateway.dialect.expiresDocuments else { return prepared }
        let id = prepared.revision.key.id
        for end in ends {
            let reader = ExpiryReader(gateway: end.gateway, contact: end.contact)
            if let expiry = try await reader.expiries(of: [(id, prepared.body.count)])[id] {
                return prepared.expiring(expiry)
            }
        }
        return prepared
    }
}

extension ResolvedDocument {
    /// A leaf with its own attachments. The ids of new revisions depend on which leaf has them.
    fileprivate static func leaf(_ leaf: ConflictLeaf, _ index: Int) -> ResolvedDocument {
        ResolvedDocument(
            members: members(of: leaf.document.root) ?? leaf.document,
            attachments: AttachmentStub.all(of: leaf.document.root).map { ($0.name, index) })
    }
}
