internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import Rules

/// Writes what the policies decided about documents in conflict.
///
/// New revisions are stored first. Losing leaves are deleted only when the server has accepted them: so no edit is lost if
/// the server refuses one, or if the process is killed in between.
///
/// A leaf that stays is not written. Another process with another policy may delete it as a loser at the same time; then
/// it is written again.
struct ConflictWriter: Sendable {
    typealias End = ConflictResolver.End
    typealias Count = @Sendable (RunCounters) -> Void

    let gateway: Gateway
    let contact: GatewayContact
    let preparation: RevisionPreparation
    let sender: RevisionSender

    /// As ``ConflictResolver/write(_:note:count:)``.
    func write(
        _ cases: [ConflictCase], note: @escaping @Sendable (ConflictCase, End) -> Void, count: @escaping Count
    ) async throws {
        var sender = sender.forOneBatch()
        var ready: [ConflictCase] = []
        var merged: [NewDocument] = []
        for one in cases {
            switch one.resolution {
            case .keep, .delete: ready.append(one)
            case .write(let document): merged.append(NewDocument(one, document, after: 0))
            case .setAside(let reason): note(one, .left(reason: reason))
            }
        }
        for (one, end) in try await store(merged, &sender, count) {
            switch end {
            case .resolved: ready.append(one)
            case .left: note(one, end)
            }
        }
        let deleted = try await deleteLosers(of: ready, &sender, count)
        let lost = try await lostMeanwhile(among: ready.filter { $0.kept != nil })
        var restored: [DocumentID: End] = [:]
        for (one, end) in try await store(lost, &sender, count) { restored[one.id] = end }
        for one in ready {
            switch restored[one.id] {
            case nil: note(one, deleted[one.id] ?? .resolved)
            case .resolved?:
                note(
                    one,
                    .left(
                        reason: "something else deleted the leaf that was kept, so that was written again: do two "
                            + "policies decide about this database?"))
            case .left(let reason)?:
                note(
                    one,
                    .left(reason: "something else deleted the leaf that was kept, and it can't be written: \(reason)"))
            }
        }
        count(await self.sender.newRequests())
    }

    // MARK: - New revisions

    /// A document to write, after one of the leaves.
    private struct NewDocument {
        let one: ConflictCase
        let document: ResolvedDocument
        let parent: Int

        init(_ one: ConflictCase, _ document: ResolvedDocument, after parent: Int) {
            self.one = one
            self.document = document
            self.parent = parent
        }
    }

    /// A document with its attachments.
    private struct Prepared {
        let one: ConflictCase
        let parent: Int
        let new: NewRevision.WithAttachments
        let revision: PreparedRevision
    }

    /// - Returns: The end of each: `.resolved` if the server has accepted the new revision.
    private func store(
        _ documents: [NewDocument], _ sender: inout RevisionSender, _ count: @escaping Count
    ) async throws -> [(ConflictCase, End)] {
        let ends = Locked([DocumentID: End]())
        var together: [PreparedRevision] = []
        for document in documents {
            let id = document.one.id
            switch try await prepare(document) {
            case .failure(let unreadable): ends.withLock { $0[id] = .left(reason: unreadable.reason) }
            case .success(let prepared) where prepared.revision.isAlone:
                try await storeAlone(prepared, &sender, ends, count)
            case .success(let prepared): together.append(prepared.revision)
            }
        }
        try await sender.storeTogether(together, Self.settle(ends, count))
        return documents.map { document in
            (document.one, ends.withLock { $0[document.one.id] } ?? .left(reason: "the server did not answer for it"))
        }
    }

    private func prepare(
        _ document: NewDocument
    ) async throws -> Result<Prepared, RevisionPreparation.Unreadable> {
        let (one, parent) = (document.one, document.parent)
        guard let new = NewRevision.resolved(document.document, of: one.conflict, after: parent, one.id) else {
            return .failure(RevisionPreparation.Unreadable(reason: "its leaves can't be merged into one document"))
        }
        return try await preparation.prepare(new.revision, new.needed, new.kept)
            .map { Prepared(one: one, parent: parent, new: new, revision: $0) }
            .mapError(Self.ofAttachment)
    }

    private static func ofAttachment(_ error: RevisionPreparation.Unreadable) -> RevisionPreparation.Unreadable {
        RevisionPreparation.Unreadable(reason: "the server could not send an attachment: \(error.reason)")
    }

    /// Stores a document with streamed attachments or stubs; with all attachments, if the server lacks one after all.
    private func storeAlone(
        _ prepared: Prepared, _ sender: inout RevisionSender, _ ends: Locked<[DocumentID: End]>,
        _ count: @escaping Count
    ) async throws {
        let (one, new) = (prepared.one, prepared.new)
        let parent = RevisionID(one.conflict.leaves[prepared.parent].revision)
        try await sender.storeAlone(prepared.revision, Self.settle(ends, count)) {
            switch try await preparation.prepare(new.revision, new.needed + new.kept.map { ($0, parent) }, []) {
            case .success(let revision): return revision
            case .failure(let unreadable):
                ends.withLock { $0[one.id] = .left(reason: Self.ofAttachment(unreadable).reason) }
                return nil
            }
        }
    }

    private static func settle(
        _ ends: Locked<[DocumentID: End]>, _ count: @escaping Count
    ) -> RevisionSender.Settle {
        { revision, outcome in
            let id = revision.document.id
            switch outcome {
            case .written:
                ends.withLock { $0[id] = .resolved }
                var sent = RunCounters()
                (sent.written, sent.bytesOut) = (1, revision.uploadedByteCount)
                count(sent)
            case .failed, .undecided, .unmentioned: return false
            case .conflict, .rejected:
                ends.withLock {
                    $0[id] = .left(reason: "the server refused its new revision: \(outcome.explanation)")
                }
            }
            return true
        }
    }

    // MARK: - Losing leaves

    /// - Returns: An entry for each document of which a leaf is left.
    private func deleteLosers(
        of cases: [ConflictCase], _ sender: inout RevisionSender, _ count: @escaping Count
    ) async throws -> [DocumentID: End] {
        let refused = Locked([DocumentID: End]())
        try await sender.storeTogether(cases.flatMap(\.tombstones)) { revision, outcome in
            switch outcome {
            case .written:
                var sent = RunCounters()
                (sent.written, sent.deleted) = (1, 1)
                count(sent)
            case .failed, .undecided, .unmentioned: return false
            case .conflict, .rejected:
                refused.withLock {
                    $0[revision.document.id] = .left(reason: "the server refused a deletion: \(outcome.explanation)")
                }
            }
            return true
        }
        return refused.withLock { $0 }
    }

    /// The kept leaves of documents that are gone because another process deleted those as losers. A document that was
    /// deleted for any other reason stays so.
    private func lostMeanwhile(among cases: [ConflictCase]) async throws -> [NewDocument] {
        guard !cases.isEmpty else { return [] }
        let found = try await contact.ask {
            try await gateway.currentDocuments(cases.map(\.id), includesBodies: false)
        }
        var lost: [NewDocument] = []
        for (one, lookup) in zip(cases, found) {
            switch lookup {
            case .found, .refused: continue
            case .deleted, .missing: break
            }
            guard let kept = one.kept, let end = NewRevision.tombstone(of: one.conflict.leaves[kept], one.id) else {
                continue
            }
            let leaves = try await contact.leaves(of: one.id, at: gateway)
            guard leaves.allSatisfy({ $0.root["_deleted"]?.bool == true }),
                leaves.contains(where: { $0.root["_rev"]?.isString(end.id.text) == true }),
                let document = ResolvedDocument(leaf: kept, of: one.conflict)
            else { continue }
            lost.append(NewDocument(one, document, after: kept))
        }
        return lost
    }
}
