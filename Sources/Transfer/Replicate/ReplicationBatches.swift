internal import DocumentFlow
internal import GatewayClient
internal import Revisions

/// Divides the feed into batches and replicates several of them at once.
///
/// A batch starts as soon as a worker is free. While all workers are busy, changes accumulate for the next batch.
struct ReplicationBatches {
    private let settings: ReplicationSettings
    private let transfer: RevisionTransfer
    private let checkpoints: ReplicationCheckpoints
    private let report: ReplicationReport

    private typealias Work = ThrowingTaskGroup<Void, any Error>

    init(
        _ settings: ReplicationSettings, transfer: RevisionTransfer, checkpoints: ReplicationCheckpoints,
        report: ReplicationReport
    ) {
        self.settings = settings
        self.transfer = transfer
        self.checkpoints = checkpoints
        self.report = report
    }

    /// Changes that are not in a batch yet.
    private struct Gathered {
        var documents: [ChangedDocument] = []
        var end: SequenceID?
        var inProgress = 0
        /// Positions of the documents in the batch: a feed may return one twice.
        private var positions: [DocumentID: Int] = [:]

        mutating func add(_ change: Change) {
            let keys = RevisionsReader.leaves(of: change)
            guard !keys.isEmpty else { return }
            let revisions = keys.compactMap(\.revision)
            guard let position = positions[change.id] else {
                positions[change.id] = documents.count
                documents.append(ChangedDocument(id: change.id, revisions: revisions))
                return
            }
            documents[position].revisions += revisions.filter { !documents[position].revisions.contains($0) }
        }

        mutating func take() -> [ChangedDocument] {
            defer { (documents, positions, end) = ([], [:], nil) }
            return documents
        }
    }

    /// - Returns: The documents of `settings.documentIDs` that the source does not have.
    /// - Throws: `RunError`, ``TransferError``, `CancellationError`.
    func replicate(_ reader: FeedReader, from start: SequenceID) async throws -> Set<DocumentID> {
        var missing = Set(settings.documentIDs ?? [])
        try await withThrowingTaskGroup { (group: inout Work) in
            var gathered = Gathered()
            try await reader.read(from: start) { rows, reached in
                guard let rows else {
                    // At the end of an answer, the reader may wait for the next change.
                    try await drain(&gathered, &group)
                    await checkpoints.pass(to: reached)
                    return try await checkpoints.saveIfDue()
                }
                report.update { $0.changes += rows.count }
                for row in rows {
                    if !missing.isEmpty { missing.remove(row.id) }
                    gathered.add(row)
                    gathered.end = row.sequence ?? gathered.end
                    if gathered.documents.count >= settings.batchChanges { try await dispatch(&gathered, &group) }
                }
                gathered.end = reached
                if gathered.inProgress < settings.workers { try await dispatch(&gathered, &group) }
            }
            try await drain(&gathered, &group)
        }
        return missing
    }

    private func drain(_ gathered: inout Gathered, _ group: inout Work) async throws {
        try await dispatch(&gathered, &group)
        while gathered.inProgress > 0 { try await finishNext(&gathered, &group) }
    }

    private func dispatch(_ gathered: inout Gathered, _ group: inout Work) async throws {
        guard let end = gathered.end else { return }
        while gathered.inProgress >= settings.workers { try await finishNext(&gathered, &group) }
        let number = await checkpoints.open(to: end)
        let documents = gathered.take()
        gathered.inProgress += 1
        group.addTask { [transfer, checkpoints] in
            if !documents.isEmpty { try await transfer.replicate(documents) }
            await checkpoints.finish(number)
        }
    }

    private func finishNext(_ gathered: inout Gathered, _ group: inout Work) async throws {
        try await group.next()
        gathered.inProgress -= 1
        if let limit = settings.errorLimit, limit.isExceeded(by: report.failures) {
            throw RunError(limit, report.failures)
        }
        try await checkpoints.saveIfDue()
    }
}
