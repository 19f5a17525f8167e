internal import Locking

/// Lets tasks use the same keys one after the other, and different keys concurrently.
///
/// A task locks all keys that it needs at once, so there is no deadlock. Tasks get a key in the order of their
/// requests.
actor KeyedLock<Key: Hashable & Sendable> {
    private var taken: Set<Key> = []
    private(set) var waiting: [(keys: Set<Key>, continuation: CheckedContinuation<Void, Never>)] = []

    /// Returns when no other task holds any of these keys. Ignores cancellation, because locks are held briefly.
    func lock(_ keys: Set<Key>) async {
        guard !isFree(keys) || waiting.contains(where: { !$0.keys.isDisjoint(with: keys) }) else {
            return taken.formUnion(keys)
        }
        await withNamedContinuation("the lock of a document") { waiting.append((keys, $0)) }
    }

    func unlock(_ keys: Set<Key>) {
        taken.subtract(keys)
        var wanted: Set<Key> = []
        waiting.removeAll { waiter in
            defer { wanted.formUnion(waiter.keys) }
            guard isFree(waiter.keys), wanted.isDisjoint(with: waiter.keys) else { return false }
            taken.formUnion(waiter.keys)
            waiter.continuation.resume()
            return true
        }
    }

    private func isFree(_ keys: Set<Key>) -> Bool { taken.isDisjoint(with: keys) }
}
