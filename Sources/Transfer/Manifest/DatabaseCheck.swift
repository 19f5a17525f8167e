internal import DocumentFlow
internal import GatewayClient
internal import ServiceLifecycle

/// Why a database does not seem to be the one that a job began with.
package struct DatabaseObjection: Sendable, Equatable {
    /// For a message.
    let reason: String
    /// A newest sequence that went back shows little: a node of a Sync Gateway cluster reports the last sequence that
    /// it gave out itself (4.1.1, `lastSequence()`), so the answer of another node may be lower.
    var isSuspicion = false
}

/// Decides whether a database was reset: a suspicion is believed only if all documents of a sample are gone.
struct DatabaseCheck: Sendable {
    let gateway: Gateway
    let contact: GatewayContact

    /// Asks at the start of a job that continues another one. A suspicion counts if no sample disproves it: continuing
    /// after a reset would lose documents.
    ///
    /// - Returns: The reason of the objection; nil if there is none, or if it was a mistake.
    /// - Throws: `RunError` if the gateway does not answer, `CancellationError`.
    func confirm(_ objection: DatabaseObjection?, _ sample: DatabaseSample) async throws -> String? {
        guard let objection else { return nil }
        guard objection.isSuspicion, !sample.ids.isEmpty else { return objection.reason }
        let found = try await cancelWhenGracefulShutdown {
            try await contact.again { try await find(sample) }
        }
        return found.map(Self.isGone) ?? true ? objection.reason : nil
    }

    /// Asks at the end of a job. Nothing is retried: the job is done, and a gateway that can't be asked now is no
    /// reason to fail it.
    ///
    /// - Parameter objection: Why it seems to be another database; nil if it doesn't.
    /// - Throws: ``TransferError``: `.foreign` if it was reset.
    func checkAtEnd(
        _ sample: DatabaseSample, _ objection: (DatabaseInfo) -> DatabaseObjection?
    ) async throws(TransferError) {
        guard let info = try? await gateway.databaseInfo(), let objection = objection(info) else { return }
        if objection.isSuspicion {
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
