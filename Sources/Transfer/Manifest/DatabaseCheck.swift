internal import DocumentFlow
internal import GatewayClient
internal import Revisions
internal import ServiceLifecycle

/// Why a database does not seem to be the one that a job began with.
package struct DatabaseObjection: Sendable, Equatable {
    /// For a message.
    let reason: String
    /// Set if this is only a suspicion: the newest sequence is lower than this one, which the database has had. A node
    /// of a Sync Gateway cluster reports the last sequence that it gave out itself (4.1.1, `lastSequence()`), so the
    /// answer of another node may be lower.
    var reached: SequenceID?
}

/// Decides whether a database was reset or restored.
struct DatabaseCheck: Sendable {
    let gateway: Gateway
    let contact: GatewayContact

    /// Asks at the start of a job that continues another one. A suspicion counts unless the feed disproves it:
    /// continuing after a reset would lose documents.
    ///
    /// - Returns: The reason of the objection; nil if there is none, or if it was a mistake.
    /// - Throws: `RunError` if the gateway does not answer, `CancellationError`.
    func confirm(_ objection: DatabaseObjection?) async throws -> String? {
        guard let objection else { return nil }
        guard let reached = objection.reached?.syncGatewayNumber else { return objection.reason }
        let hasReached = try await cancelWhenGracefulShutdown {
            try await contact.ask { try await feed(hasReached: reached) }
        }
        return hasReached ? nil : objection.reason
    }

    /// Whether the feed has a change with this sequence or a later one. Whichever node answers, the feed has the changes
    /// of all. It has none if that sequence was a user's or a role's and nothing was written since: then a reset is
    /// assumed by mistake.
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

    /// Asks at the end of a job. A suspicion counts only if all documents of a sample are gone. Nothing is retried: the
    /// job is done, and a gateway that can't be asked now is no reason to fail it.
    ///
    /// - Parameters:
    ///   - sample: Documents that the job has read or written.
    ///   - objection: Why it seems to be another database; nil if it doesn't.
    /// - Throws: ``TransferError``: `.foreign` if it was reset.
    func checkAtEnd(
        _ sample: DatabaseSample, _ objection: (DatabaseInfo) -> DatabaseObjection?
    ) async throws(TransferError) {
        guard let info = try? await gateway.databaseInfo(), let objection = objection(info) else { return }
        if objection.reached != nil {
            guard !sample.ids.isEmpty, let found = try? await find(sample), Self.isGone(found) else { return }
        }
        throw TransferError(
            .foreign,
            "\(gateway.url) changed in the middle of this job: \(objection.reason); start again from the beginning")
    }

    /// Nil if this user may not look documents up by their ids.
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
