/// Wakes the one task that waits for something to happen. A task that waits for it costs nothing meanwhile.
///
/// Raised while nobody waits, it ends the next wait at once; raised several times, it does so once.
package final class Signal: Sendable {
    private enum State {
        case quiet, raised
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Locked(State.quiet)

    /// Not raised.
    package init() {}

    /// It has happened. Never waits.
    package func raise() {
        let waiting = state.withLock { state -> CheckedContinuation<Void, Never>? in
            guard case .waiting(let continuation) = state else {
                state = .raised
                return nil
            }
            state = .quiet
            return continuation
        }
        waiting?.resume()
    }

    /// Returns once it is raised. For one task at a time.
    ///
    /// - Throws: `CancellationError`.
    package func wait() async throws {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isRaised = state.withLock { state in
                    if case .raised = state {
                        state = .quiet
                        return true
                    }
                    state = .waiting(continuation)
                    return false
                }
                if isRaised { continuation.resume() }
            }
        } onCancel: {
            raise()
        }
        try Task.checkCancellation()
    }

    /// Returns once it is raised, and at `deadline` at the latest. For one task at a time.
    ///
    /// - Throws: `CancellationError`.
    package func wait(until deadline: ContinuousClock.Instant) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.wait() }
            group.addTask { try await Task.sleep(until: deadline, clock: .continuous) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }
}
