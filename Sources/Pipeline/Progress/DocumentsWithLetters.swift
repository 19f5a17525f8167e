internal import GatewayClient
internal import Locking

/// Knows which documents may have dead letters, so that a change of any other costs nothing.
///
/// Keeps a number for each document, not its id: two documents may share one, and the ledger decides then.
final class DocumentsWithLetters: Sendable {
    /// Beyond it, letters leave only when one of their documents is decided, or by `changebot dead-letters`.
    static let limit = 100_000

    private let hashes: Locked<Set<Int>>

    init(_ ids: [DocumentID] = []) { hashes = Locked(Set(ids.map(\.hashValue))) }

    var isEmpty: Bool { hashes.withLock(\.isEmpty) }

    func mayContain(_ id: DocumentID) -> Bool {
        hashes.withLock { !$0.isEmpty && $0.contains(id.hashValue) }
    }

    func insert(_ letters: [DeadLetter]) {
        hashes.withLock { hashes in
            for letter in letters where hashes.count < Self.limit { hashes.insert(letter.id.hashValue) }
        }
    }

    func remove(_ id: DocumentID) { hashes.withLock { _ = $0.remove(id.hashValue) } }
}
