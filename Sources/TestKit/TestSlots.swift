internal import Foundation
internal import Locking

/// The number of processors of this machine.
var processorCount: Int { ProcessInfo.processInfo.activeProcessorCount }

/// A semaphore for tasks: at most `count` of them have a slot at the same time. Waiting tasks get their slots in order;
/// early tasks come before the others.
package final class TestSlots: Sendable {
    private struct State {
        var count: Int
        var used = 0
        var nextTicket = 0
        /// In the order in which they get their slots.
        var waiting: [(ticket: Int, isEarly: Bool, continuation: CheckedContinuation<Void, any Error>)] = []

        /// Takes as many free slots as possible for the first waiting tasks.
        mutating func takeForWaiting() -> [CheckedContinuation<Void, any Error>] {
            let next = waiting.prefix(max(0, count - used))
            waiting.removeFirst(next.count)
            used += next.count
            return next.map(\.continuation)
        }
    }

    private let state: Locked<State>

    /// - Parameter count: The number of slots, at least one.
    package init(_ count: Int) {
        precondition(count > 0, "no slots")
        state = Locked(State(count: count))
    }

    /// The number of waiting tasks.
    package var waitingTasks: Int { state.withLock { $0.waiting.count } }

    /// The number of slots, used or not. Tasks keep theirs if the number decreases.
    package var count: Int {
        get { state.withLock { $0.count } }
        set {
            precondition(newValue > 0, "no slots")
            let next = state.withLock { state in
                state.count = newValue
                return state.takeForWaiting()
            }
            for continuation in next { continuation.resume() }
        }
    }

    /// Runs `body` when a slot is free.
    ///
    /// - Parameter isEarly: Whether it comes before all waiting tasks that are not early.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and what `body` throws.
    package func withSlot(isEarly: Bool = false, _ body: () async throws -> Void) async throws {
        try await take(isEarly)
        defer { release() }
        try await body()
    }

    private func take(_ isEarly: Bool) async throws {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // A task that is cancelled after this point finds its ticket.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard state.used >= state.count else {
                        state.used += 1
                        return .success(())
                    }
                    let place = isEarly ? state.waiting.firstIndex { !$0.isEarly } : nil
                    state.waiting.insert((ticket, isEarly, continuation), at: place ?? state.waiting.count)
                    return nil
                }
                if let answer { continuation.resume(with: answer) }
            }
        } onCancel: {
            let waiting: CheckedContinuation<Void, any Error>? = state.withLock { state in
                let index = state.waiting.firstIndex { $0.ticket == ticket }
                return index.map { state.waiting.remove(at: $0).continuation }
            }
            waiting?.resume(throwing: CancellationError())
        }
    }

    /// Passes the slot to the first waiting task.
    private func release() {
        let next = state.withLock { state in
            state.used -= 1
            return state.takeForWaiting()
        }
        for continuation in next { continuation.resume() }
    }
}
