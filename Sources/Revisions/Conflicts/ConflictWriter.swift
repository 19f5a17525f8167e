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
/// The winning leaf is never deleted, whatever the policy, unless the document is: if another one is to stay, its content
/// becomes a new revision after the winner. So a document survives processes that decide differently about it at the same
/// time, here or in a copy of the database: of all leaves that any of them sees, the one that wins is alive, or what was
/// made of it.
struct ConflictWriter: Sendable {
    typealias Count = @Sendable (RunCounters) -> Void

    /// Bytes of documents per request.
    private static let requestBytes = 2 << 20

    let gateway: Gateway
    let contact: GatewayContact
    let preparation: RevisionPreparation
    let sender: RevisionSender

    /// As ``ConflictResolver/write(_:note:count:)``.
    func write(
        _ cases: [ConflictCase], note: @escaping @Sendable (ConflictCase, ConflictEnd) -> Void, count: @escaping Count
    ) async throws {
        var sender = sender.forOneBatch()
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
        for (one, end) in try await store(merged, expiries, &sender, count) {
            switch end {
            case .resolved: ready.append(one)
            case .nothing, .changed, .left: note(one, end)
            }
        }
        let refused = try await deleteLosers(of: ready, expiries, &sender, count)
        for one in ready { note(one, refused[one.id] ?? .resolved) }
        count(await self.sender.newRequests())
    }

    /// Those of the documents that stay. The tombstone of a losing leaf has the expiry, too: it is a write of the document.
    private func expiries(of cases: [ConflictCase]) async throws -> [DocumentID: [UInt8]] {
        let staying = cases.filter { one in if case .delete = one.resolution { false } else { true } }
        return try await ExpiryReader(gateway: gateway, contact: contact).expiries(
            of: staying.map { ($0.id, $0.conflict.leaves.first?.document.bytes.count ?? 0) })
    }

    // MARK: - New revisions

    /// A document with its attachments.
    private struct Prepared {
        let one: ConflictCase
        let new: NewRevision.WithAttachments
        let expiry: [UInt8]?
        let revision: PreparedRevision
    }

    /// - Returns: The end of each: `.resolved` if the server has accepted the new revision.
    private func store(
        _ documents: [(one: ConflictCase, document: ResolvedDocument)], _ expiries: [DocumentID: [UInt8]],
        _ sender: inout RevisionSender,
        _ count: @escaping Count
    ) async throws -> [(ConflictCase, ConflictEnd)] {
        let ends = Locked([DocumentID: ConflictEnd]())
        var together: [PreparedRevision] = []
        var byteCount = 0
        for (one, document) in documents {
            let id = one.id
            switch try await prepare(document, of: one, expiries[id]) {
            case .failure(let unreadable): ends.withLock { $0[id] = .left(reason: unreadable.reason) }
            case .success(let prepared) where prepared.revision.isAlone:
                try await storeAlone(prepared, &sender, ends, count)
            case .success(let prepared):
                together.append(prepared.revision)
                byteCount += prepared.revision.body.count
            }
            guard byteCount >= Self.requestBytes else { continue }
            try await sender.storeTogether(together, Self.settle(ends, count))
            (together, byteCount) = ([], 0)
        }
        try await sender.storeTogether(together, Self.settle(ends, count))
        var result: [(ConflictCase, ConflictEnd)] = []
        for (one, _) in documents {
            let end = ends.withLock { $0[one.id] } ?? .left(reason: "the server did not answer for it")
            result.append((one, try await isSettled(one, despite: end) ? .nothing : end))
        }
        return result
    }

    /// Whether another process has resolved the conflict meanwhile, so that its leaves can't be read any more.
    private func isSettled(_ one: ConflictCase, despite end: ConflictEnd) async throws -> Bool {
        guard case .left = end else { return false }
        let current = try await contact.leaves(of: one.id, at: gateway)
        return current.filter { $0.root["_deleted"]?.bool != true }.count < 2
    }

    private func prepare(
        _ document: ResolvedDocument, of one: ConflictCase, _ expiry: [UInt8]?
    ) async throws -> Result<Prepared, RevisionPreparation.Unreadable> {
        guard let new = NewRevision.resolved(document, of: one.conflict, one.id) else {
            return .failure(.notMergeable)
        }
        return try await preparation.prepare(new, from: "server")
            .map { Prepared(one: one, new: new, expiry: expiry, revision: $0.expiring(expiry)) }
    }

    /// Stores a document with streamed attachments or stubs; with all attachments, if the server lacks one after all.
    private func storeAlone(
        _ prepared: Prepared, _ sender: inout RevisionSender, _ ends: Locked<[DocumentID: ConflictEnd]>,
        _ count: @escaping Count
    ) async throws {
        let (one, new) = (prepared.one, prepared.new)
        let winner = one.conflict.leaves.first.map { RevisionID($0.revision) }
        try await sender.storeAlone(prepared.revision, Self.settle(ends, count)) {
            let complete = (new.revision, [AttachmentStub](), new.needed + new.kept.map { ($0, winner) })
            switch try await preparation.prepare(complete, from: "server") {
            case .success(let revision): return revision.expiring(prepared.expiry)
            case .failure(let unreadable):
                ends.withLock { $0[one.id] = .left(reason: unreadable.reason) }
                return nil
            }
        }
    }

    private static func settle(
        _ ends: Locked<[DocumentID: ConflictEnd]>, _ count: @escaping Count
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
        of cases: [ConflictCase], _ expiries: [DocumentID: [UInt8]], _ sender: inout RevisionSender,
        _ count: @escaping Count
    ) async throws -> [DocumentID: ConflictEnd] {
        let refused = Locked([DocumentID: ConflictEnd]())
        let tombstones = cases.flatMap { one in
            one.losers.compactMap { NewRevision.tombstone(of: $0, one.id)?.expiring(expiries[one.id]) }
        }
        try await sender.storeTogether(tombstones) { revision, outcome in
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
}
