internal import GatewayClient

/// Requests that show whether a failed read or write is the gateway's problem or only one document's.
struct GatewayProbe: Sendable {
    /// The longest `Retry-After` that a probe waits for.
    private static let maxHoldTime: Duration = .seconds(60)
    private static let attempts = 3

    let gateway: Gateway
    let pauses: Pauses

    /// Whether the gateway accepts writes of this user now: sends `_bulk_docs` without documents.
    func acceptsWrites() async -> Bool {
        do {
            try await ask { _ = try await gateway.bulkDocs([]) }
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
            do {
                try await ask { _ = try await gateway.databaseInfo() }
                return true
            } catch {
                let code = (error as? GatewayError)?.code
                guard code == .malformedAnswer || code == .connectionLost else { return false }
            }
        }
        return false
    }

    private func ask(_ question: () async throws -> Void) async throws {
        try await pauses.waitOutRetryAfter(upTo: Self.maxHoldTime, question)
    }
}
