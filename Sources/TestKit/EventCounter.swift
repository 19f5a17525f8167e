internal import Locking

/// Counts events on one side of a test, so that the other side can wait for the n-th instead of sleeping.
package final class EventCounter: Sendable {
    private struct State: Sendable {
        var count = 0
        var nextWaiter = 0
        var waiters: [Int: (goal: Int, continuation: UnsafeContinuation<Void, Never>)] = [:]

        /// Removes and returns the waiters whose goal is reached.
        mutating func takeServed() -> [UnsafeContinuation<Void, Never>] {
            let served = waiters.filter { $0.value.goal <= count }
            for key in served.keys { waiters[key] = nil }
            return served.values.map(\.continuation)
        }
    }

    private let state = Monitor(State())

    /// Starts at 0.
    package init() {}

    /// How many events there have been.
    package var count: Int { state.with(\.count) }

    /// Counts one event and wakes the waiters whose goal it reaches.
    package func increment() {
        let served = state.with { state in
            state.count += 1
            return state.takeServed()
        }
        for continuation in served { continuation.resume() }
    }

    /// Waits until there have been `goal` events since the start. Returns early if the task is cancelled.
    package func wait(for goal: Int) async {
        let key = state.with { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let isServed = state.with { state in
                    if state.count >= goal || Task.isCancelled { return true }
                    state.waiters[key] = (goal, continuation)
                    return false
                }
                if isServed { continuation.resume() }
            }
        } onCancel: {
            state.with { $0.waiters.removeValue(forKey: key) }?.continuation.resume()
        }
    }

    /// ``wait(for:)`` for a thread that may block.
    package func block(until goal: Int) {
        state.block { $0.count >= goal }
    }
}
