internal import Foundation
internal import Locking

/// How many processors this machine has.
var processorCount: Int { ProcessInfo.processInfo.activeProcessorCount }

/// A semaphore for tasks: at most `count` of them have a slot at a time. Tasks that wait get theirs in order; those
/// that should begin early come before the others.
package final class TestSlots: Sendable {
    private struct State {
        var count: Int
        var used = 0
        var nextTicket = 0
        /// In the order in which they get their slots.
        var waiting: [(ticket: Int, isEarly: Bool, continuation: CheckedContinuation<Void, any Error>)] = []

        /// Takes slots for the first tasks that wait, as many as there are.
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

    /// How many tasks wait for a slot.
    package var waitingTasks: Int { state.withLock { $0.waiting.count } }

    /// The number of slots, used or not. Tasks keep theirs if it becomes smaller.
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

    /// Runs `body` as soon as there is a slot.
    ///
    /// - Parameter isEarly: Whether it comes before all waiting tasks that need not begin early.
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and what `body` throws.
    package func withSlot(isEarly: Bool = false, _ body: () async throws -> Void) async throws {
        try await take(isEarly)
        defer { giveBack() }
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
                    // A task that is cancelled from here on finds its ticket.
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

    /// Passes the slot to the first task that waits.
    private func giveBack() {
        let next = state.withLock { state in
            state.used -= 1
            return state.takeForWaiting()
        }
        for continuation in next { continuation.resume() }
    }
}
