internal import Locking

/// The time that counts towards the time limit of a test case. It stands still while the test case waits for other
/// tests.
package final class TestTime: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The test case of the current task; nil outside of a ``ParallelismLimit``.
    @TaskLocal package static var current: TestTime?

    private struct State {
        /// The number of unfinished waits.
        var waits = 0
        /// When the first of them began.
        var waitingSince: Instant?
        /// The time spent in finished waits.
        var waited: Duration = .zero
    }

    private let start: Instant
    private let state = Locked(State())

    package init(start: Instant = .now) { self.start = start }

    /// The time since the start, without waits.
    package func elapsed(at now: Instant = .now) -> Duration {
        state.withLock { state in
            start.duration(to: now) - state.waited - (state.waitingSince?.duration(to: now) ?? .zero)
        }
    }

    /// Whether the time stands still.
    package var isWaiting: Bool { state.withLock { $0.waits > 0 } }

    package func beginWait(at now: Instant = .now) {
        state.withLock { state in
            if state.waits == 0 { state.waitingSince = now }
            state.waits += 1
        }
    }

    package func endWait(at now: Instant = .now) {
        state.withLock { state in
            state.waits -= 1
            guard state.waits == 0, let since = state.waitingSince else { return }
            state.waited += since.duration(to: now)
            state.waitingSince = nil
        }
    }

    /// Returns once `limit` has elapsed.
    func reach(_ limit: Duration) async throws {
        while true {
            let left = limit - elapsed()
            guard left > .zero else { return }
            // Not in tiny steps while the time stands still.
            try await Task.sleep(for: max(left, .milliseconds(100)))
        }
    }
}
