internal import GatewayClient

/// Questions to a gateway that show what a failure means: is it the gateway's, or that of one document?
struct GatewayProbe: Sendable {
    /// The longest Retry-After that a question waits for.
    private static let longestHold: Duration = .seconds(60)
    private static let attempts = 3

    let gateway: Gateway
    let pauses: Pauses

    /// Whether this user may write at all, and the gateway can now: a write of no documents is let through.
    func letsWritesPass() async -> Bool {
        do throws(GatewayError) {
            try await ask { () async throws(GatewayError) in _ = try await gateway.bulkDocs([]) }
            return true
        } catch {
            return false
        }
    }

    /// Whether the gateway answers other questions.
    ///
    /// CouchDB 3.5 may send stray bytes behind an answer to a bad id: the next request on that connection fails.
    func isAnswered() async -> Bool {
        for _ in 0..<Self.attempts {
            do throws(GatewayError) {
                try await ask { () async throws(GatewayError) in _ = try await gateway.databaseInfo() }
                return true
            } catch {
                guard [.malformedAnswer, .connectionLost].contains(error.code) else { return false }
            }
        }
        return false
    }

    /// Asks once more after the time that the gateway has asked for.
    private func ask(_ question: () async throws(GatewayError) -> Void) async throws(GatewayError) {
        do throws(GatewayError) { return try await question() } catch {
            guard error.isHeldBack, let hold = error.retryAfter, hold <= Self.longestHold,
                (try? await pauses.wait(hold)) != nil
            else { throw error }
        }
        try await question()
    }
}
