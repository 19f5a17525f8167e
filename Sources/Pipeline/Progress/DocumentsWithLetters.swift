internal import GatewayClient
internal import Locking

/// Knows which documents may have dead letters, so that a change of any other costs nothing.
///
/// Keeps a number for each document, not its id: two documents may share one, and the ledger decides then.
final class DocumentsWithLetters: Sendable {
    /// Beyond it, letters leave only when one of their documents is decided, or by `changebot dead-letters`.
    static let limit = 100_000

    private struct State {
        var hashes: Set<Int>
        var newest: Int
    }

    private let state: Locked<State>

    /// - Parameter newest: The highest number of a letter.
    init(_ ids: [DocumentID] = [], newest: Int = 0) {
        state = Locked(State(hashes: Set(ids.map(\.hashValue)), newest: newest))
    }

    var isEmpty: Bool { state.withLock(\.hashes.isEmpty) }

    /// The highest number of a letter up to now.
    var newest: Int { state.withLock(\.newest) }

    func mayContain(_ id: DocumentID) -> Bool {
        state.withLock { !$0.hashes.isEmpty && $0.hashes.contains(id.hashValue) }
    }

    /// - Parameter numbers: Of these letters.
    func insert(_ letters: [DeadLetter], numbers: [Int]) {
        state.withLock { state in
            state.newest = max(state.newest, numbers.max() ?? 0)
            for letter in letters where state.hashes.count < Self.limit { state.hashes.insert(letter.id.hashValue) }
        }
    }

    func remove(_ id: DocumentID) { state.withLock { _ = $0.hashes.remove(id.hashValue) } }
}
