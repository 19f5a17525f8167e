internal import DocumentFlow
internal import GatewayClient

extension GatewayContact {
    /// Nodes of one cluster do not know the newest sequence at the same moment.
    private static let confirmations = 3
    private static let confirmationPause: Duration = .seconds(1)

    /// Asks at the end of a job whether the database is still the one that the job began with.
    ///
    /// - Parameter objection: What speaks against it; nil if nothing does.
    /// - Throws: ``TransferError``: `.foreign` if the database was reset in the middle. `RunFailure`,
    ///   `CancellationError`.
    func confirm(_ gateway: Gateway, _ objection: (DatabaseInfo) -> String?) async throws {
        var reason: String?
        for attempt in 1...Self.confirmations {
            let info = try await again { try await gateway.databaseInfo() }
            reason = objection(info)
            if reason == nil { return }
            if attempt < Self.confirmations { try await Task.sleep(for: Self.confirmationPause) }
        }
        throw TransferError(
            .foreign,
            "\(gateway.url) changed in the middle of this job: \(reason ?? ""); start again from the beginning")
    }
}
