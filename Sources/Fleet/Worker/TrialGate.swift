internal import Locking

/// Lets a document that may have ended the process before be tried with nothing else in the process.
///
/// Otherwise every document that is tried alone in its partition takes the blame for one that ends the process in
/// another partition. A partition that waits to be alone goes before those that share. No call blocks: a refused partition asks again
/// when its signal is raised.
final class TrialGate: Sendable {
    private struct State {
        var sharing = 0
        var alone: Int?
        /// Partitions that want to be alone, in the order in which they asked.
        var waiting: [Int] = []
        /// Of partitions that were refused.
        var refused: [Int: Signal] = [:]
    }

    private let state = Locked(State())

    /// Enters together with others. False: a partition is alone, or waits to be.
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

    /// Enters alone. False: others are inside, or asked before.
    func enterAlone(_ partition: Int, _ signal: Signal) -> Bool {
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
    func leave(isAlone: Bool) {
        change { state in
            if isAlone { state.alone = nil } else { state.sharing -= 1 }
        }
    }

    /// A partition asks no more.
    func withdraw(_ partition: Int) {
        change { state in
            state.refused[partition] = nil
            state.waiting.removeAll { $0 == partition }
        }
    }

    /// Wakes those that were refused, in the order of their partitions, if one may enter now.
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
