internal import GatewayClient
internal import Logging
internal import Pipeline

/// Asks a gateway, and again as long as patience lasts.
struct PatientAsking: Sendable {
    let settings: Patience.Settings
    let logger: Logger
    /// Called for each request that is sent again.
    let noteRetry: @Sendable () -> Void

    /// The first question of a run: shows whether there is a gateway, and whether it lets this user in.
    ///
    /// - Throws: `RunFailure`, `CancellationError`.
    func first<Answer: Sendable>(_ question: () async throws -> Answer) async throws -> Answer {
        try await ask(Patience(settings), question)
    }

    /// One more, to a gateway that has answered already.
    ///
    /// - Throws: Also what `isForGood` says that asking again would not change.
    func again<Answer: Sendable>(
        unless isForGood: (GatewayError) -> Bool = { _ in false }, _ question: () async throws -> Answer
    ) async throws -> Answer {
        try await ask(Patience(settings, hasSucceeded: true), unless: isForGood, question)
    }

    /// Finds out which server this is, where its answers have not told yet. Proxies may hide that, and the server's own
    /// page too: it is asked a few times, and nothing depends on it.
    func findDialect(of gateway: Gateway) async throws {
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

    /// Whether the gateway answers, and its database is online. If not, returns once it does. Time that it has asked for
    /// is no outage.
    ///
    /// - Throws: `RunFailure` if that takes too long, or it lets this user in no more; `CancellationError`.
    func isThere(_ gateway: Gateway) async throws -> Bool {
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
            var patience = Patience(settings, hasSucceeded: true)
            try await wait(after: error, &patience, "the gateway does not answer; waiting for it")
            try await again(look)
            return false
        }
    }

    /// - Throws: `CancellationError`, or `RunFailure` where this process can't go on.
    func endIfHopeless(_ error: GatewayError) throws {
        if error.code == .cancelled { throw CancellationError() }
        if error.code == .outOfResources { throw RunFailure(.outOfResources, error.description) }
    }

    /// Waits before the same request is sent again.
    func pause(
        _ duration: Duration, after error: GatewayError, _ message: Logger.Message, _ metadata: Logger.Metadata
    ) async throws {
        let facts: Logger.Metadata = ["reason": "\(error)", "wait": "\(duration.text)"]
        logger.warning(message, metadata: metadata.merging(facts) { _, new in new })
        noteRetry()
        try await Task.sleep(for: duration)
    }

    private func ask<Answer: Sendable>(
        _ start: Patience, unless isForGood: (GatewayError) -> Bool = { _ in false },
        _ question: () async throws -> Answer
    ) async throws -> Answer {
        var patience = start
        var outage = Outage()
        while true {
            do {
                let answer = try await question()
                outage.end(logger)
                return answer
            } catch let error as GatewayError {
                guard !isForGood(error) else { throw error }
                outage.note()
                try await wait(after: error, &patience, "no proper answer from the gateway yet")
            }
        }
    }

    /// Waits for as long as is good after an error.
    ///
    /// - Throws: `RunFailure` if there is nothing more to wait for, `CancellationError`.
    func wait(after error: GatewayError, _ patience: inout Patience, _ message: Logger.Message) async throws {
        if error.code == .cancelled { throw CancellationError() }
        switch patience.verdict(on: error) {
        case .end(let failure): throw failure
        case .retry(let delay):
            logger.warning(message, metadata: ["reason": "\(error)", "wait": "\(delay.text)"])
            noteRetry()
            try await Task.sleep(for: delay)
        }
    }
}
