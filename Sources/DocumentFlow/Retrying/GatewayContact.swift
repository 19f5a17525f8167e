package import GatewayClient
package import Logging

/// Sends single requests to a gateway and retries each until it is answered or the policy gives up.
package struct GatewayContact: Sendable {
    private static let attemptsForDialect = 3

    /// Also the settings of the retriers and readers created here.
    package let settings: RetryPolicy.Settings
    private let pauses: Pauses
    private let logger: Logger
    private let noteRetry: @Sendable () async -> Void

    /// - Parameter noteRetry: Called for each request that is sent again.
    package init(
        settings: RetryPolicy.Settings, pauses: Pauses = Pauses(), logger: Logger,
        noteRetry: @escaping @Sendable () async -> Void = {}
    ) {
        self.settings = settings
        self.pauses = pauses
        self.logger = logger
        self.noteRetry = noteRetry
    }

    // MARK: - The first contact

    /// Checks that the gateway is reachable and accepts this user, and detects the kind of server.
    ///
    /// - Parameters:
    ///   - hasConnectedBefore: Whether the database has already answered this run: then retries as after a first
    ///     contact.
    ///   - level: The level at which `connected` is logged.
    ///   - check: Further checks of the database. A `GatewayError` is retried like a failed request.
    /// - Throws: ``RunError``, `CancellationError`, what `check` throws.
    package func connect(
        to gateway: Gateway, hasConnectedBefore: Bool = false, logLevel level: Logger.Level = .info,
        check: (DatabaseInfo) throws -> Void = { _ in }
    ) async throws -> DatabaseInfo {
        let info = try await ask(RetryPolicy(settings, hasSucceeded: hasConnectedBefore), isFirst: !hasConnectedBefore)
        {
            let info = try await gateway.databaseInfo()
            try check(info)
            return info
        }
        try await findDialect(of: gateway)
        logger.log(
            level: level, "connected",
            metadata: [LogKey.gateway: "\(gateway.url)", LogKey.dialect: "\(gateway.dialect.rawValue)"])
        return info
    }

    /// Detects the kind of server, if its answers have not shown it yet. A proxy may hide it. Then it stays unknown,
    /// and nothing depends on it.
    private func findDialect(of gateway: Gateway) async throws {
        for attempt in 1...Self.attemptsForDialect {
            do throws(GatewayError) {
                _ = try await gateway.findDialect()
                return
            } catch {
                if error.code == .cancelled { throw CancellationError() }
                guard error.isRetryable, attempt < Self.attemptsForDialect else { return }
            }
            try await pauses.wait(.milliseconds(500))
        }
    }

    /// Sends a request that is the first contact with a gateway.
    ///
    /// - Throws: ``RunError``, `CancellationError`, what `question` throws.
    package func askFirst<Answer: Sendable>(_ question: () async throws -> Answer) async throws -> Answer {
        try await ask(RetryPolicy(settings), isFirst: true, question)
    }

    // MARK: - Further requests

    /// Sends a request to a gateway that has answered before.
    ///
    /// - Throws: ``RunError``, `CancellationError`.
    package func ask<Answer: Sendable>(_ question: () async throws -> Answer) async throws -> Answer {
        try await ask(RetryPolicy.forKnownGateway(settings), isFirst: false, question)
    }

    private func ask<Answer: Sendable>(
        _ policy: RetryPolicy, isFirst: Bool, _ question: () async throws -> Answer
    ) async throws -> Answer {
        var retrier = makeRetrier(policy)
        while true {
            do {
                let answer = try await question()
                settings.outage.end(logger)
                return answer
            } catch let error as GatewayError {
                // At first contact, a server that is not a gateway is reported once, at the end.
                try await retrier.wait(
                    after: error, "no valid answer from the gateway; trying again",
                    level: isFirst && error.code == .malformedAnswer ? .debug : .warning, stopsAll: true)
            }
        }
    }

    /// Sends one of many requests of a kind, such as for attachments. Gives up on a request that keeps failing while
    /// the gateway answers others. During an outage, waits for its end.
    ///
    /// - Parameters:
    ///   - history: The history of this kind of request, which is updated.
    ///   - isPermanent: Recognizes errors for which a retry is pointless.
    ///   - isSuccess: Whether an answer shows that requests of this kind succeed.
    /// - Returns: The answer, or why there is none.
    /// - Throws: `RunError`, `CancellationError`.
    package func askWithLimit<Answer: Sendable>(
        _ gateway: Gateway, history: SharedHistory, _ message: Logger.Message, _ metadata: Logger.Metadata,
        unless isPermanent: (GatewayError) -> Bool = { _ in false },
        isSuccess: (Answer) -> Bool = { _ in true },
        _ question: () async throws -> Answer
    ) async throws -> Result<Answer, GatewayError> {
        var suspect = FailingRequest(retryFor: settings.retryFor)
        while true {
            do {
                let answer = try await question()
                if isSuccess(answer) { history.noteSuccess() }
                return .success(answer)
            } catch let error as GatewayError {
                try requireRunCanContinue(after: error)
                if isPermanent(error) { return .failure(error) }
                // The answer does not show whether the whole keyspace fails or only this request.
                let wasOnline = try await waitUntilOnline(gateway)
                if !wasOnline {
                    let isFailure = suspect.noteOutage()
                    if !isFailure {
                        history.with { $0.noteOutage() }
                        continue
                    }
                }
                if history.with({ suspect.advice(after: error, &$0) }) == .giveUp { return .failure(error) }
                try await makeRetrier().pause(suspect.wait(after: error), after: error, message, metadata)
            }
        }
    }

    /// Throws for errors after which a retry is pointless.
    ///
    /// - Throws: `CancellationError`, or ``RunError`` with `.outOfResources`.
    package func requireRunCanContinue(after error: GatewayError) throws {
        if error.code == .cancelled { throw CancellationError() }
        if error.code == .outOfResources { throw RunError(.outOfResources, error.description) }
    }

    /// Waits until the gateway answers and its database is online.
    ///
    /// - Returns: Whether no wait was necessary. False after an outage; waiting for a `Retry-After` does not count as
    ///   one.
    /// - Throws: ``RunError`` if that takes too long, or if the gateway no longer accepts this user;
    ///   `CancellationError`.
    package func waitUntilOnline(_ gateway: Gateway) async throws -> Bool {
        @Sendable func check() async throws {
            let info = try await gateway.databaseInfo()
            guard info.isOnline else { throw GatewayError(.unavailable, "\(gateway.url): the database is offline") }
        }
        do {
            try await pauses.waitOutRetryAfter(upTo: max(settings.retryFor, .seconds(1)), check)
            return true
        } catch let error as GatewayError {
            var retrier = makeRetrier()
            try await retrier.wait(after: error, "the gateway does not answer; waiting for it")
            try await ask(check)
            return false
        }
    }

    // MARK: - Readers

    /// Retries requests to a gateway that has answered before.
    package func makeRetrier() -> Retrier { makeRetrier(RetryPolicy.forKnownGateway(settings)) }

    private func makeRetrier(_ policy: RetryPolicy) -> Retrier {
        Retrier(policy, pauses: pauses, logger: logger, noteRetry: noteRetry)
    }

    /// Reads current documents from a gateway that has answered before.
    package func makeReader(of gateway: Gateway) -> CurrentDocumentReader {
        CurrentDocumentReader(
            gateway: gateway, policy: RetryPolicy.forKnownGateway(settings), pauses: pauses, logger: logger,
            noteRetry: noteRetry)
    }
}

extension Gateway {
    /// Throws if channels are given but the server has none. Must be called after its first answer, which identifies
    /// the server.
    ///
    /// - Throws: `.badConfiguration`.
    package func check(channels: [String]?) throws(RunError) {
        guard channels == nil || dialect.hasChannels else {
            throw RunError(
                .badConfiguration,
                "--channels: \(url) is not a Sync Gateway and has no channels; remove --channels")
        }
    }
}
