internal import Locking

/// Limits how many changes of all partitions a member has under way.
///
/// The changes under way must be finished before a partition can be released. Without this limit, a member with a
/// backlog and slow rules would start all of it, and new members would get nothing until it is nearly done. No call
/// blocks: a refused partition asks again when its signal is raised. Partitions are served in the order of their
/// requests.
final class WorkLimit: Sendable {
    private struct State {
        var room: Int
        /// Less room is not worth a call.
        let minBatch: Int
        var waiting: [(partition: Int, signal: Signal)] = []

        /// The partitions that may enter now.
        var next: Signal? { room >= minBatch ? waiting.first?.signal : nil }
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - limit: The maximum number of changes under way.
    ///   - minBatch: A partition gets room for at least this many changes, unless it asks for fewer.
    init(_ limit: Int, minBatch: Int = 1) {
        let limit = max(1, limit)
        state = Locked(State(room: limit, minBatch: min(limit, minBatch)))
    }

    /// Reserves room for at most this many changes. Returns 0 if there is too little, or others asked first.
    func enter(_ partition: Int, atMost count: Int, _ signal: Signal) -> Int {
        let (taken, next) = state.withLock { state -> (Int, Signal?) in
            let isFirst = state.waiting.first.map { $0.partition == partition } ?? true
            guard isFirst, state.room >= state.minBatch else {
                if !state.waiting.contains(where: { $0.partition == partition }) {
                    state.waiting.append((partition, signal))
                }
                return (0, nil)
            }
            if !state.waiting.isEmpty { state.waiting.removeFirst() }
            let taken = min(count, state.room)
            state.room -= taken
            return (taken, state.next)
        }
        next?.raise()
        return taken
    }

    /// Reserves room even if the limit is exceeded.
    func add(_ count: Int) { state.withLock { $0.room -= count } }

    /// Returns room.
    func leave(_ count: Int) {
        change { $0.room += count }
    }

    /// A partition withdraws its request.
    func withdraw(_ partition: Int) {
        change { state in state.waiting.removeAll { $0.partition == partition } }
    }

    private func change(_ body: (inout State) -> Void) {
        let next = state.withLock { state in
            body(&state)
            return state.next
        }
        next?.raise()
    }
}
