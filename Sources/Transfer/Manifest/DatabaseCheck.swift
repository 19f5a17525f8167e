internal import DocumentFlow
internal import GatewayClient
internal import Revisions
internal import ServiceLifecycle

/// Why a database seems to be a different one than at the start of a job.
package struct DatabaseMismatch: Sendable, Equatable {
    /// For a message.
    let reason: String
    /// Set if this is only a suspicion: the newest sequence is lower than this one, which the database has reached
    /// before. A node of a Sync Gateway cluster reports the last sequence that it assigned itself (4.1.1,
    /// `lastSequence()`). Another node may therefore report a lower one.
    var reached: SequenceID?
}

/// Decides whether a database was reset or restored.
struct DatabaseCheck: Sendable {
    let gateway: Gateway
    let contact: GatewayContact

    /// Checks at the start of a job that continues another one. A suspicion counts unless the feed disproves it:
    /// continuing after a reset would lose documents.
    ///
    /// - Returns: The reason of the mismatch; nil if there is none, or if the suspicion was wrong.
    /// - Throws: `RunError` if the gateway does not answer, `CancellationError`.
    func confirm(_ mismatch: DatabaseMismatch?) async throws -> String? {
        guard let mismatch else { return nil }
        guard let reached = mismatch.reached?.syncGatewayNumber else { return mismatch.reason }
        let hasReached = try await cancelWhenGracefulShutdown {
            try await contact.ask { try await feed(hasReached: reached) }
        }
        return hasReached ? nil : mismatch.reason
    }

    /// Whether the feed has a change with this sequence or a later one. Every node's feed has the changes of all nodes.
    /// The feed has no such change if a user or role took that sequence and nothing was written since then: a reset is
    /// then assumed wrongly.
    private func feed(hasReached sequence: UInt64) async throws(GatewayError) -> Bool {
        guard let before = SequenceID(String(sequence &- min(sequence, 1))) else { return false }
        do {
            var answer = try await gateway.changes(
                ChangesRequest(since: before, includesDocuments: false, limit: 1))
            while let batch = try await answer.next() {
                if batch.contains(where: { ($0.sequence?.syncGatewayNumber ?? 0) >= sequence }) { return true }
            }
            return false
        } catch {
            guard [.notOffered, .forbidden].contains(error.code) else { throw error }
            return false
        }
    }

    /// Checks at the end of a job. A suspicion counts only if all documents of a sample are gone. Nothing is retried:
    /// the job is done, and an unreachable gateway must not make it fail.
    ///
    /// - Parameters:
    ///   - sample: Documents that the job has read or written.
    ///   - mismatch: Why it seems to be another database; nil if it does not.
    /// - Throws: ``TransferError``: `.foreign` if it was reset.
    func checkAtEnd(
        _ sample: DatabaseSample, _ mismatch: (DatabaseInfo) -> DatabaseMismatch?
    ) async throws(TransferError) {
        guard let info = try? await gateway.databaseInfo(), let mismatch = mismatch(info) else { return }
        if mismatch.reached != nil {
            guard !sample.ids.isEmpty, let found = try? await find(sample), Self.isGone(found) else { return }
        }
        throw TransferError(
            .foreign,
            "\(gateway.url) changed during this job: \(mismatch.reason); start again from the beginning")
    }

    /// Nil if this user may not look up documents by id.
    private func find(_ sample: DatabaseSample) async throws(GatewayError) -> [DocumentLookup]? {
        do { return try await gateway.allDocs(keys: sample.ids, includesBodies: false) } catch {
            guard [.notOffered, .forbidden].contains(error.code) else { throw error }
            return nil
        }
    }

    private static func isGone(_ found: [DocumentLookup]) -> Bool {
        found.allSatisfy { lookup in
            if case .missing = lookup { true } else { false }
        }
    }
}
