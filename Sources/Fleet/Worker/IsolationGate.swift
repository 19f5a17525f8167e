internal import Locking

/// Gives a document that may have crashed a process exclusive use of this process.
///
/// Without it, a document attempted in isolation would count as the cause when a document of another partition ends the
/// process. A partition that waits for exclusive use takes precedence over partitions that share the process. No call
/// blocks: a refused partition asks again when its signal is raised.
final class IsolationGate: Sendable {
    private struct State {
        var sharing = 0
        var alone: Int?
        /// Partitions that wait for exclusive use, in the order of their requests.
        var waiting: [Int] = []
        /// The signals of refused partitions.
        var refused: [Int: Signal] = [:]
    }

    private let state = Locked(State())

    /// Enters together with others. False: a partition has or waits for exclusive use.
    func share(_ partition: Int, _ signal: Signal) -> Bool {
        state.withLock { state in
            guard state.alone == nil, state.waiting.isEmpty else {
                state.refused[partition] = signal
                return false
            }
            state.sharing += 1
            return true
        }
    }

    /// Enters exclusively. False: others are inside, or asked first.
    func enterExclusively(_ partition: Int, _ signal: Signal) -> Bool {
        state.withLock { state in
            if !state.waiting.contains(partition) { state.waiting.append(partition) }
            guard state.alone == nil, state.sharing == 0, state.waiting.first == partition else {
                state.refused[partition] = signal
                return false
            }
            state.waiting.removeFirst()
            state.alone = partition
            return true
        }
    }

    /// Leaves again.
    func leave(isIsolated: Bool) {
        change { state in
            if isIsolated { state.alone = nil } else { state.sharing -= 1 }
        }
    }

    /// A partition withdraws its request.
    func withdraw(_ partition: Int) {
        change { state in
            state.refused[partition] = nil
            state.waiting.removeAll { $0 == partition }
        }
    }

    /// Wakes refused partitions in ascending order, if one may enter now.
    private func change(_ body: (inout State) -> Void) {
        let signals = state.withLock { state -> [Signal] in
            body(&state)
            guard state.alone == nil, state.sharing == 0 || state.waiting.isEmpty else { return [] }
            defer { state.refused = [:] }
            return state.refused.sorted { $0.key < $1.key }.map(\.value)
        }
        for signal in signals { signal.raise() }
    }
}
