internal import Locking

/// The writers' edits. Only the writers and the bot change the documents.
final class EditCount: Sendable {
    private struct State {
        var edits: [Int: Int] = [:]
        var isStopped = false
    }

    private let state = Locked(State())

    func note(_ number: Int) { state.withLock { $0.edits[number, default: 0] += 1 } }

    func edits(of number: Int) -> Int { state.withLock { $0.edits[number] ?? 0 } }

    var total: Int { state.withLock { $0.edits.values.reduce(0, +) } }

    /// Asks the writers to stop.
    func stop() { state.withLock { $0.isStopped = true } }

    var isStopped: Bool { state.withLock { $0.isStopped } }
}
