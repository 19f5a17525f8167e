internal import Locking

/// Wakes waiting feeds after a commit.
final class ChangeSignal: Sendable {
    private struct State {
        var lastSequence: Int
        var era = 0
        var endings = 0
    }

    private let state: Monitor<State>
    /// Called after each commit. Nil: nothing is called.
    let observer = Locked<(@Sendable () -> Void)?>(nil)

    init(lastSequence: Int) { state = Monitor(State(lastSequence: lastSequence)) }

    var lastSequence: Int { state.quietly { $0.lastSequence } }
    /// The number of waiting calls of ``wait(past:)``.
    var waitingCount: Int { state.waitingTasks }

    /// Changes with each ``restart(at:)``. Within a transaction, the era of the transaction's sequences.
    var era: Int { state.quietly { $0.era } }
    /// How often the feeds were ended. A feed ends once this exceeds its value at the feed's start.
    var endings: Int { state.quietly { $0.endings } }

    /// Wakes the feeds that wait for this sequence. Must be called after the commit, so that they can read it.
    ///
    /// - Parameter era: The era that the sequence belongs to. A call for an earlier era is ignored. Nil for the current
    ///   one.
    func advance(to sequence: Int, in era: Int? = nil) {
        state.with { state in
            guard sequence > state.lastSequence, era ?? state.era == state.era else { return }
            state.lastSequence = sequence
        }
        observer.withLock(\.self)?()
    }

    /// Begins another era: sequences continue from this one, and the feeds end.
    func restart(at sequence: Int) {
        state.with { state in
            state.lastSequence = sequence
            state.era += 1
            state.endings += 1
        }
    }

    /// Wakes all waiting feeds, which then end.
    func endFeeds() { state.with { $0.endings += 1 } }

    /// Waits for a sequence above `sequence`, the end of the feeds, or the task's cancellation.
    func wait(past sequence: Int) async {
        let endings = endings
        await state.wait { $0.lastSequence > sequence || $0.endings != endings }
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
