/// Counts things that happen on one side of a test and lets the other side wait for the n-th, instead of sleeping.
package final class EventCounter: Sendable {
    private struct State: Sendable {
        var count = 0
        var nextWaiter = 0
        var waiters: [Int: (goal: Int, continuation: UnsafeContinuation<Void, Never>)] = [:]

        /// Takes out everybody who need not wait any longer.
        mutating func takeServed() -> [UnsafeContinuation<Void, Never>] {
            let served = waiters.filter { $0.value.goal <= count }
            for key in served.keys { waiters[key] = nil }
            return served.values.map(\.continuation)
        }
    }

    private let state = Monitor(State())

    package init() {}

    package var count: Int { state.with(\.count) }

    /// It has happened once more.
    package func increment() {
        let served = state.with { state in
            state.count += 1
            return state.takeServed()
        }
        for continuation in served { continuation.resume() }
    }

    /// Waits until it has happened `goal` times in all. Returns early if the task is cancelled.
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

    /// The same for a thread that may block.
    package func block(until goal: Int) {
        state.block { $0.count >= goal }
    }
}
