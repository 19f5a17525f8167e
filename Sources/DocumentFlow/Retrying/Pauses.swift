internal import GatewayClient
internal import ServiceLifecycle

/// Thrown by a pause that ends early because the run is stopping. The caller leaves its work unfinished.
package struct RunIsStopping: Error {
    /// Without details: the cause of the stop is logged elsewhere.
    package init() {}
}

/// How writers, readers and ``GatewayContact`` wait before they send a request, or send it again.
package struct Pauses: Sendable {
    private let sleep: @Sendable (Duration) async throws -> Void

    /// - Parameter sleep: Throws `CancellationError`, or ``RunIsStopping`` if the run stops during the wait.
    package init(_ sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }) {
        self.sleep = sleep
    }

    /// Returns at once if `duration` is not positive.
    ///
    /// - Throws: `CancellationError`, ``RunIsStopping``.
    package func wait(_ duration: Duration) async throws {
        guard duration > .zero else { return }
        try await sleep(duration)
    }

    /// Returns at once if `instant` is past.
    ///
    /// - Throws: `CancellationError`, ``RunIsStopping``.
    package func wait(until instant: ContinuousClock.Instant) async throws {
        try await wait(ContinuousClock.now.duration(to: instant))
    }
}

extension Pauses {
    /// Sends a request. If it is held back because of an earlier `Retry-After`, waits until that ends and sends it
    /// again.
    ///
    /// - Parameter longest: The longest `Retry-After` to wait for.
    /// - Throws: What the request throws, `CancellationError`, ``RunIsStopping``.
    func waitOutRetryAfter(upTo longest: Duration, _ request: () async throws -> Void) async throws {
        do { return try await request() } catch let error as GatewayError
            where error.isHeldBack && error.code != .unauthorized
        {
            guard let hold = error.retryAfter, hold <= longest else { throw error }
            try await wait(hold)
        }
        try await request()
    }

    /// Every wait ends with ``RunIsStopping`` once a graceful shutdown begins.
    package static let endedByGracefulShutdown = Pauses { duration in
        do {
            try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
        } catch is CancellationError where !Task.isCancelled {
            throw RunIsStopping()
        }
    }
}
