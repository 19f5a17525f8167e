internal import DocumentFlow
internal import GatewayClient
internal import Locking
internal import LosslessJSON
internal import Rules

/// Writes what the policies decided about documents in conflict.
///
/// New revisions are stored first. Losing leaves are deleted only after the server has accepted them. No edit is lost
/// if the server refuses a revision, or if the process is killed in between.
///
/// The winning leaf is never deleted by a policy unless the document is deleted. If the policy chooses another leaf,
/// its content becomes a new revision after the winner.
///
/// A document therefore survives processes that decide differently at the same time, here or in a copy of the database.
/// Of all leaves that any of them sees, the winner or its successor is alive.
struct ConflictWriter: Sendable {
    typealias Note = @Sendable (ConflictCase, ConflictResult) -> Void
    typealias Count = @Sendable (RunCounters) -> Void

    let gateway: Gateway
    let contact: GatewayContact
    let preparation: RevisionPreparation
    let sender: RevisionSender

    /// See ``ConflictResolver/write(_:note:count:)``.
    func write(_ cases: [ConflictCase], note: Note, count: @escaping Count) async throws {
        var ready: [ConflictCase] = []
        var merged: [(one: ConflictCase, document: ResolvedDocument)] = []
        for one in cases {
            switch one.resolution {
            case .keep, .delete: ready.append(one)
            case .write(let document): merged.append((one, document))
            case .leave(let reason): note(one, .left(reason: reason))
            }
        }
        let expiries = try await expiries(of: cases)
        var batch = sender.makeBatch()
        for (one, end) in try await store(merged, expiries, &batch, count) {
            if end == .resolved { ready.append(one) } else { note(one, end) }
        }
        let refused = try await deleteLosers(of: ready, expiries, &batch, count)
        for one in ready { note(one, refused[one.id].map { .left(reason: $0) } ?? .resolved) }
        count(await sender.newRequests())
    }

    /// The expiries of the documents that are kept. The tombstone of a losing leaf carries it, too, because it is a
    /// write of the document.
    private func expiries(of cases: [ConflictCase]) async throws -> [DocumentID: [UInt8]] {
        let staying = cases.filter { one in if case .delete = one.resolution { false } else { true } }
        return try await ExpiryReader(gateway: gateway, contact: contact).expiries(
            of: staying.map { ($0.id, $0.conflict.leaves.first?.document.bytes.count ?? 0) })
    }

    // MARK: - New revisions

    /// - Returns: The result of each case: `.resolved` if the server has accepted the new revision.
    private func store(
        _ documents: [(one: ConflictCase, document: ResolvedDocument)], _ expiries: [DocumentID: [UInt8]],
        _ batch: inout RevisionBatch, _ count: @escaping Count
    ) async throws -> [(ConflictCase, ConflictResult)] {
        let ends = Locked([DocumentID: ConflictResult]())
        let note: RevisionBatch.Note = { revision, answer in
            switch answer {
            case .stored:
                ends.withLock { $0[revision.document.id] = .resolved }
                var sent = RunCounters()
                sent.written = 1
                sent.traffic.bytesOut = revision.uploadedByteCount
                count(sent)
            case .refused(_, let reason):
                let reason = "the server refused its new revision: \(reason)"
                ends.withLock { $0[revision.document.id] = .left(reason: reason) }
            }
        }
        for (one, document) in documents {
            guard let reason = try await store(document, of: one, expiries[one.id], &batch, note) else { continue }
            ends.withLock { $0[one.id] = .left(reason: reason) }
        }
        try await batch.storeGathered(note)
        var result: [(ConflictCase, ConflictResult)] = []
        for (one, _) in documents {
            let end = ends.withLock { $0[one.id] } ?? .left(reason: "the server's answer does not mention it")
            result.append((one, try await isSettled(one, despite: end) ? .nothing : end))
        }
        return result
    }

    /// Whether another process has resolved the conflict meanwhile, so that its leaves can no longer be read.
    private func isSettled(_ one: ConflictCase, despite end: ConflictResult) async throws -> Bool {
        guard case .left = end else { return false }
        let current = try await contact.leaves(of: one.id, at: gateway)
        return current.filter { $0.root["_deleted"]?.bool != true }.count < 2
    }

    /// Stores a document with its attachments. If the server lacks one that it should have, all of them are sent.
    ///
    /// - Returns: The reason of a failure; nil on success.
    private func store(
        _ document: ResolvedDocument, of one: ConflictCase, _ expiry: [UInt8]?, _ batch: inout RevisionBatch,
        _ note: RevisionBatch.Note
    ) async throws -> String? {
        guard let new = NewRevision.resolved(document, of: one.conflict, one.id) else {
            return RevisionPreparation.Unreadable.notMergeable.reason
        }
        var unreadable: RevisionPreparation.Unreadable?
        func prepared(_ new: NewRevision.RevisionWithAttachments) async throws -> PreparedRevision? {
            switch try await preparation.prepare(new, from: "server") {
            case .success(let revision): return revision.expiring(expiry)
            case .failure(let error):
                unreadable = error
                return nil
            }
        }
        if let revision = try await prepared(new) {
            let winner = one.conflict.leaves.first.map { RevisionID($0.revision) }
            try await batch.store(revision, note) {
                try await prepared((new.revision, [], new.needed + new.kept.map { ($0, winner) }))
            }
        }
        return unreadable?.reason
    }

    // MARK: - Losing leaves

    /// - Returns: The reason for each document of which a leaf remains.
    private func deleteLosers(
        of cases: [ConflictCase], _ expiries: [DocumentID: [UInt8]], _ batch: inout RevisionBatch,
        _ count: @escaping Count
    ) async throws -> [DocumentID: String] {
        let refused = Locked([DocumentID: String]())
        let tombstones = cases.flatMap { one in
            one.losers.compactMap { NewRevision.tombstone(of: $0, one.id)?.expiring(expiries[one.id]) }
        }
        try await batch.storeTogether(tombstones) { revision, answer in
            switch answer {
            case .stored:
                var sent = RunCounters()
                (sent.written, sent.deleted) = (1, 1)
                count(sent)
            case .refused(_, let reason):
                refused.withLock { $0[revision.document.id] = "the server refused a deletion: \(reason)" }
            }
        }
        return refused.withLock { $0 }
    }
}
