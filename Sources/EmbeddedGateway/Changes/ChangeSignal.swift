internal import NIOConcurrencyHelpers

/// Wakes waiting feeds when something was committed.
final class ChangeSignal: Sendable {
    private struct State {
        var lastSequence: Int
        var era = 0
        var endings = 0
        var nextNumber = 0
        var waiting: [Int: (sequence: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        /// Numbers of calls that were cancelled before they waited.
        var cancelledEarly: Set<Int> = []
    }

    private let state: NIOLockedValueBox<State>

    init(lastSequence: Int) { state = NIOLockedValueBox(State(lastSequence: lastSequence)) }

    var lastSequence: Int { state.withLockedValue { $0.lastSequence } }
    /// How many calls of ``wait(past:)`` are waiting.
    var waitingCount: Int { state.withLockedValue { $0.waiting.count } }

    /// Changes with each ``restart(at:)``. Within a transaction, it is the era of the transaction's sequences.
    var era: Int { state.withLockedValue { $0.era } }
    /// How often the feeds were ended. A feed ends once this exceeds its value at the feed's start.
    var endings: Int { state.withLockedValue { $0.endings } }

    /// Wakes those who wait for this sequence. Call after the commit, so that they can read it.
    ///
    /// - Parameter era: The era that the sequence belongs to; a call for an earlier era is ignored. Nil for the current
    ///   one.
    func advance(to sequence: Int, in era: Int? = nil) {
        let woken = state.withLockedValue { state -> [CheckedContinuation<Void, Never>] in
            guard sequence > state.lastSequence, era ?? state.era == state.era else { return [] }
            state.lastSequence = sequence
            let due = state.waiting.filter { $0.value.sequence < sequence }
            for number in due.keys { state.waiting[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Begins another era: sequences continue from this one, and the feeds end.
    func restart(at sequence: Int) {
        state.withLockedValue { state in
            state.lastSequence = sequence
            state.era += 1
        }
        endFeeds()
    }

    /// Wakes all waiting feeds, which then end.
    func endFeeds() {
        let woken = state.withLockedValue { state in
            state.endings += 1
            defer { state.waiting = [:] }
            return state.waiting.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }

    /// Waits for a sequence above `sequence`, the end of the feeds, or the task's cancellation.
    func wait(past sequence: Int) async {
        let number = state.withLockedValue { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isDue = state.withLockedValue { state in
                    if state.lastSequence > sequence || state.cancelledEarly.remove(number) != nil { return true }
                    state.waiting[number] = (sequence, continuation)
                    return false
                }
                if isDue { continuation.resume() }
            }
        } onCancel: {
            let continuation = state.withLockedValue { state in
                let continuation = state.waiting.removeValue(forKey: number)?.continuation
                if continuation == nil { state.cancelledEarly.insert(number) }
                return continuation
            }
            continuation?.resume()
        }
        // The cancellation may come after the wake-up.
        state.withLockedValue { _ = $0.cancelledEarly.remove(number) }
    }

    /// As ``wait(past:)``, but at most until `deadline`.
    ///
    /// - Returns: Whether the sequence was passed.
    /// - Throws: `CancellationError`.
    func wait(past sequence: Int, until deadline: ContinuousClock.Instant?) async throws -> Bool {
        if let deadline {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { await self.wait(past: sequence) }
                group.addTask { try? await Task.sleep(until: deadline, clock: .continuous) }
                await group.next()
                group.cancelAll()
            }
        } else {
            await wait(past: sequence)
        }
        try Task.checkCancellation()
        return lastSequence > sequence
    }
}
