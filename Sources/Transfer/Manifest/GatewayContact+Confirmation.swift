internal import DocumentFlow
internal import GatewayClient

extension GatewayContact {
    /// Retries, because the nodes of a cluster learn of the newest sequence at different times.
    private static let confirmations = 3
    private static let confirmationPause: Duration = .seconds(1)

    /// Checks at the end of a job that the database is still the one that the job began with.
    ///
    /// - Parameter objection: Why this is another database; nil if there is no sign of that.
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
