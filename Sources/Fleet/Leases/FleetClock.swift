package import Locking

/// The clock of the fleet code: monotonic, with a different origin in each process. Never the time of day.
package protocol FleetClock: Sendable {
    /// The time since some fixed moment. Advances while the process is stopped or the machine sleeps.
    var now: Duration { get }
    /// Returns at `deadline`.
    ///
    /// - Throws: `CancellationError`.
    func sleep(until deadline: Duration) async throws
    /// Returns when `signal` is raised, and at `deadline` at the latest. Nil: no deadline.
    ///
    /// - Throws: `CancellationError`.
    func wait(for signal: Signal, until deadline: Duration?) async throws
}

extension FleetClock {
    package func wait(for signal: Signal, until deadline: Duration?) async throws {
        guard let deadline else { return try await signal.wait() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await signal.wait() }
            group.addTask { try await sleep(until: deadline) }
            defer { group.cancelAll() }
            try await group.next()
        }
        try Task.checkCancellation()
    }

    /// Returns after `time`.
    ///
    /// - Throws: `CancellationError`.
    package func sleep(for time: Duration) async throws { try await sleep(until: now + time) }
}

/// The machine's clock.
package struct SystemFleetClock: FleetClock {
    private let origin = ContinuousClock.now

    /// Starts at zero.
    package init() {}

    package var now: Duration { origin.duration(to: .now) }

    package func sleep(until deadline: Duration) async throws {
        try await Task.sleep(until: origin + deadline, clock: .continuous)
    }
}
