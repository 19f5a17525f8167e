/// Wakes the task that waits for an event. Waiting costs nothing.
///
/// If it is raised before a wait, the next wait returns immediately. Raising it several times has the same effect as
/// once.
package final class Signal: Sendable {
    private enum State {
        case quiet, raised
        case waiting(CheckedContinuation<Void, Never>)
    }

    private let state = Locked(State.quiet)
    private let name: StaticString

    /// Starts in the state "not raised".
    ///
    /// - Parameter name: Completes the sentence "the task waits for …".
    package init(_ name: StaticString = "a signal") { self.name = name }

    /// Raises the signal. Never blocks.
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
            await withNamedContinuation(name) { continuation in
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
