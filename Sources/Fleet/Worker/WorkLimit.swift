internal import Locking

/// Limits how many changes a member has in work at once, over all its partitions.
///
/// What is in work must be finished before a partition can be given back. Without this limit, a member with a backlog and
/// slow rules would begin all of it, and those that join would get nothing until it is nearly done. No call blocks: a
/// partition that is refused asks again when its signal is raised. They are served in the order in which they asked.
final class WorkLimit: Sendable {
    private struct State {
        var room: Int
        /// Less room is not worth a call.
        let worthwhile: Int
        var waiting: [(partition: Int, signal: Signal)] = []

        /// Who may enter now.
        var next: Signal? { room >= worthwhile ? waiting.first?.signal : nil }
    }

    private let state: Locked<State>

    /// - Parameters:
    ///   - limit: How many changes may be in work.
    ///   - worthwhile: No partition gets room for fewer, unless it asks for fewer.
    init(_ limit: Int, worthwhile: Int = 1) {
        let limit = max(1, limit)
        state = Locked(State(room: limit, worthwhile: min(limit, worthwhile)))
    }

    /// Takes room for at most this many changes. 0: there is too little, or others asked first.
    func enter(_ partition: Int, atMost count: Int, _ signal: Signal) -> Int {
        let (taken, next) = state.withLock { state -> (Int, Signal?) in
            let isFirst = state.waiting.first.map { $0.partition == partition } ?? true
            guard isFirst, state.room >= state.worthwhile else {
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

    /// Takes room, even if there is none.
    func add(_ count: Int) { state.withLock { $0.room -= count } }

    /// Gives room back.
    func leave(_ count: Int) {
        change { $0.room += count }
    }

    /// A partition asks no more.
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
