internal import GatewayClient

/// The first documents that a job saw or wrote: if none of them is there at its end, the database was reset meanwhile.
///
/// A newest sequence that went back shows less: a node of a Sync Gateway cluster reports the last sequence that it gave
/// out itself (4.1.1, `lastSequence()`), so the answer of another node may be lower.
struct DatabaseSample: Sendable {
    private static let limit = 10
    private(set) var ids: [DocumentID] = []

    mutating func note(_ id: @autoclosure () -> DocumentID?) {
        if ids.count < Self.limit, let id = id() { ids.append(id) }
    }

    /// Asks whether the database is still the one that the job began with. Nothing is retried: the job is done, and a
    /// gateway that can't be asked now is no reason to fail it.
    ///
    /// - Parameter objection: Why it seems to be another database; nil if it doesn't.
    /// - Throws: ``TransferError``: `.foreign` if it was reset.
    func check(_ gateway: Gateway, _ objection: (DatabaseInfo) -> String?) async throws(TransferError) {
        guard let info = try? await gateway.databaseInfo(), let reason = objection(info),
            await shows(resetOf: gateway)
        else { return }
        throw TransferError(
            .foreign, "\(gateway.url) changed in the middle of this job: \(reason); start again from the beginning")
    }

    /// Whether the reason that was found is no mistake.
    private func shows(resetOf gateway: Gateway) async -> Bool {
        if gateway.dialect.keepsInstance { return true }
        guard !ids.isEmpty, let found = try? await gateway.allDocs(keys: ids, includesBodies: false) else {
            return false
        }
        return found.allSatisfy { lookup in
            if case .missing = lookup { true } else { false }
        }
    }
}
