internal import GatewayClient

/// Requests that show what a failed write means: is the gateway in trouble, or only one document?
struct GatewayProbe: Sendable {
    /// The longest `Retry-After` that a probe waits for.
    private static let longestHold: Duration = .seconds(60)
    private static let attempts = 3

    let gateway: Gateway
    let pauses: Pauses

    /// Whether this user may write and the gateway can write now: sends `_bulk_docs` without documents.
    func letsWritesPass() async -> Bool {
        do throws(GatewayError) {
            try await ask { () async throws(GatewayError) in _ = try await gateway.bulkDocs([]) }
            return true
        } catch {
            return false
        }
    }

    /// Whether the gateway answers other requests (`GET /{db}/`), in up to three attempts.
    ///
    /// CouchDB 3.5 may send stray bytes after its answer to a bad id, so the next request on that connection fails.
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

    /// Sends the request, and once more after a `Retry-After`.
    private func ask(_ question: () async throws(GatewayError) -> Void) async throws(GatewayError) {
        do throws(GatewayError) { return try await question() } catch {
            guard error.isHeldBack, let hold = error.retryAfter, hold <= Self.longestHold,
                (try? await pauses.wait(hold)) != nil
            else { throw error }
        }
        try await question()
    }
}
