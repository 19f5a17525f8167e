package import GatewayClient
package import Logging

/// Sends single requests to a gateway and retries each until it is answered or the policy gives up.
package struct GatewayContact: Sendable {
    /// Also those of the retriers and readers made here.
    package let settings: RetryPolicy.Settings
    private let logger: Logger
    private let noteRetry: @Sendable () async -> Void

    /// - Parameter noteRetry: Called for each request that is sent again.
    package init(
        settings: RetryPolicy.Settings, logger: Logger, noteRetry: @escaping @Sendable () async -> Void = {}
    ) {
        self.settings = settings
        self.logger = logger
        self.noteRetry = noteRetry
    }

    /// Retries requests to a gateway that has answered before.
    package func makeRetrier() -> Retrier { retrier(RetryPolicy(settings, hasSucceeded: true)) }

    /// Reads current documents from a gateway that has answered before.
    package func makeReader(of gateway: Gateway) -> CurrentDocumentReader {
        CurrentDocumentReader(
            gateway: gateway, policy: RetryPolicy(settings, hasSucceeded: true), logger: logger, noteRetry: noteRetry)
    }

    private func retrier(_ policy: RetryPolicy) -> Retrier {
        Retrier(policy, logger: logger, noteRetry: noteRetry)
    }

    /// The first request of a run: shows whether there is a gateway and whether it lets this user in.
    ///
    /// - Throws: ``RunError``, `CancellationError`.
    package func first<Answer: Sendable>(_ question: () async throws -> Answer) async throws -> Answer {
        try await ask(RetryPolicy(settings), question)
    }

    /// A further request, to a gateway that has answered before.
    ///
    /// - Throws: ``RunError``, `CancellationError`.
    package func again<Answer: Sendable>(_ question: () async throws -> Answer) async throws -> Answer {
        try await ask(RetryPolicy(settings, hasSucceeded: true), question)
    }

    private func ask<Answer: Sendable>(
        _ policy: RetryPolicy, _ question: () async throws -> Answer
    ) async throws -> Answer {
        var retrier = retrier(policy)
        while true {
            do {
                let answer = try await question()
                settings.outage.end(logger)
                return answer
            } catch let error as GatewayError {
                // A server that is not a gateway is reported once, at the end.
                try await retrier.wait(
                    after: error, "no proper answer from the gateway; trying again",
                    level: error.code == .malformedAnswer ? .debug : .warning, stopsAll: true)
            }
        }
    }

    /// Finds out which server this is, if its answers have not shown it yet. A proxy may hide it: after three attempts
    /// it stays unknown, and nothing depends on it.
    ///
    /// - Throws: `CancellationError`.
    package func findDialect(of gateway: Gateway) async throws {
        for attempt in 1...3 {
            do {
                _ = try await gateway.findDialect()
                return
            } catch {
                if error.code == .cancelled { throw CancellationError() }
                if attempt < 3 { try await Task.sleep(for: .milliseconds(500)) }
            }
        }
    }

    /// Whether the gateway answers and its database is online. If not, waits until it is and returns false. Waiting for
    /// a `Retry-After` does not count as an outage.
    ///
    /// - Throws: ``RunError`` if that takes too long, or if it no longer lets this user in; `CancellationError`.
    package func isThere(_ gateway: Gateway) async throws -> Bool {
        @Sendable func look() async throws {
            let info = try await gateway.databaseInfo()
            guard info.isOnline else { throw GatewayError(.unavailable, "\(gateway.url): the database is offline") }
        }
        do {
            do { try await look() } catch let error as GatewayError where error.isHeldBack {
                let hold = error.retryAfter ?? .zero
                guard hold <= max(settings.retryFor, .seconds(1)) else { throw error }
                try await Task.sleep(for: hold)
                try await look()
            }
            return true
        } catch let error as GatewayError {
            var retrier = makeRetrier()
            try await retrier.wait(after: error, "the gateway does not answer; waiting for it")
            try await again(look)
            return false
        }
    }

    /// Throws for errors after which a retry is pointless.
    ///
    /// - Throws: `CancellationError`, or ``RunError`` with `.outOfResources`.
    package func endIfHopeless(_ error: GatewayError) throws {
        if error.code == .cancelled { throw CancellationError() }
        if error.code == .outOfResources { throw RunError(.outOfResources, error.description) }
    }

    /// Logs the error, counts a retry and waits `duration`, before the caller sends the request again.
    ///
    /// - Throws: `CancellationError`.
    package func pause(
        _ duration: Duration, after error: GatewayError, _ message: Logger.Message, _ metadata: Logger.Metadata
    ) async throws {
        let facts: Logger.Metadata = ["reason": "\(error)", "wait": "\(duration.text)"]
        let level: Logger.Level = settings.outage.note(error) ? .warning : .debug
        logger.log(level: level, message, metadata: metadata.merging(facts) { _, new in new })
        await noteRetry()
        try await Task.sleep(for: duration)
    }
}
