package import GatewayClient
package import Logging

extension GatewayContact {
    /// Sends one of many requests of a kind, such as for attachments. Gives up on a request that keeps failing while
    /// the gateway answers others. Waits for the end of an outage.
    ///
    /// - Parameters:
    ///   - arrivals: How many requests of this kind have succeeded; the caller counts them.
    ///   - isPermanent: Errors that a retry would not change.
    /// - Returns: The answer, or why there is none.
    /// - Throws: `RunError`, `CancellationError`.
    package func single<Answer: Sendable>(
        _ gateway: Gateway, arrivals: Arrivals, _ message: Logger.Message, _ metadata: Logger.Metadata,
        unless isPermanent: (GatewayError) -> Bool = { _ in false },
        _ question: () async throws -> Answer
    ) async throws -> Result<Answer, GatewayError> {
        var suspect = SuspectRequest(retryFor: settings.retryFor)
        while true {
            do {
                return .success(try await question())
            } catch let error as GatewayError {
                try endIfHopeless(error)
                if isPermanent(error) { return .failure(error) }
                // The answer does not tell whether the keyspace fails or only this request.
                guard try await isThere(gateway) else {
                    suspect.noteOutage()
                    continue
                }
                suspect.noteFailure(error, successes: arrivals.count)
                if suspect.mustGiveUp { return .failure(error) }
                try await pause(suspect.wait(after: error), after: error, message, metadata)
            }
        }
    }
}
