internal import BotState
internal import GatewayClient
internal import Locking

/// Knows which documents may have dead letters, so that changes of other documents need no lookup.
///
/// Keeps a hash per document, not its id. If two documents share a hash, the ledger decides.
final class DeadLetteredDocuments: Sendable {
    /// The maximum number of documents that are remembered. Dead letters of other documents are removed only when their
    /// document is decided, or by `changebot dead-letters`.
    static let limit = 100_000

    private struct State {
        var hashes: Set<Int>
        var newest: Int
    }

    private let state: Locked<State>
    /// Whether other processes add dead letters, too. Then any document may have some.
    private let isShared: Bool

    /// - Parameter newest: The highest number of a dead letter.
    init(_ ids: [DocumentID] = [], newest: Int = 0, isShared: Bool = false) {
        self.isShared = isShared
        state = Locked(State(hashes: Set(ids.map(\.hashValue)), newest: newest))
    }

    var isEmpty: Bool { !isShared && state.withLock(\.hashes.isEmpty) }

    /// Whether this process knows of dead letters of the document.
    func knows(_ id: DocumentID) -> Bool { state.withLock { $0.hashes.contains(id.hashValue) } }

    /// The highest number of a dead letter that this process knows.
    var newest: Int { state.withLock(\.newest) }

    /// The highest number of a dead letter so far; 0 if there are none.
    func newest(in ledger: Ledger) async throws(StateError) -> Int {
        isShared ? try await ledger.newestDeadLetterNumber() : newest
    }

    /// - Parameter id: Evaluated only if any document has dead letters.
    func mayContain(_ id: @autoclosure () -> DocumentID) -> Bool {
        if isShared { return true }
        guard !isEmpty else { return false }
        let hash = id().hashValue
        return state.withLock { $0.hashes.contains(hash) }
    }

    /// - Parameter numbers: The numbers of these dead letters.
    func insert(_ deadLetters: [DeadLetter], numbers: [Int]) {
        state.withLock { state in
            state.newest = max(state.newest, numbers.max() ?? 0)
            for deadLetter in deadLetters where state.hashes.count < Self.limit {
                state.hashes.insert(deadLetter.id.hashValue)
            }
        }
    }

    func remove(_ id: DocumentID) { state.withLock { _ = $0.hashes.remove(id.hashValue) } }
}
