internal import Foundation
internal import Locking

/// How many processors this machine has.
var processorCount: Int { ProcessInfo.processInfo.activeProcessorCount }

/// A semaphore for tasks: at most `count` of them have a slot at a time. Tasks that wait get theirs in order.
package final class TestSlots: Sendable {
    private struct State {
        var free: Int
        var nextTicket = 0
        /// In the order of their tickets.
        var waiting: [(ticket: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    }

    private let state: Locked<State>

    /// - Parameter count: The number of slots, at least one.
    package init(_ count: Int) {
        precondition(count > 0, "no slots")
        state = Locked(State(free: count))
    }

    /// How many tasks wait for a slot.
    package var waitingTasks: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` as soon as there is a slot.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and what `body` throws.
    package func withSlot(_ body: () async throws -> Void) async throws {
        try await take()
        defer { giveBack() }
        try await body()
    }

    private func take() async throws {
        let ticket = state.withLock { state in
            state.nextTicket += 1
            return state.nextTicket
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let answer: Result<Void, any Error>? = state.withLock { state in
                    // A task that is cancelled from here on finds its ticket.
                    if Task.isCancelled { return .failure(CancellationError()) }
                    guard state.free == 0 else {
                        state.free -= 1
                        return .success(())
                    }
                    state.waiting.append((ticket, continuation))
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
        let next: CheckedContinuation<Void, any Error>? = state.withLock { state in
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume()
    }
}
