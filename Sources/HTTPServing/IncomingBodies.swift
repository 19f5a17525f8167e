internal import NIOConcurrencyHelpers

/// The request bodies of all connections in memory, from their first piece until the request is answered.
///
/// If their total exceeds the limit, the connections whose bodies have not grown for the longest time are closed.
/// Complete bodies are kept, because their requests are in progress. If that does not free enough, the growing body is
/// refused.
package final class IncomingBodies: Sendable {
    /// In bytes, for all connections together.
    package static let limit = 256 << 20

    /// There is no room; the client may try again later.
    struct BodyMemoryExhausted: Error {}

    private struct State {
        var ledger: IncomingBodyLedger
        var closeHandlers: [Int: @Sendable () -> Void] = [:]
    }

    private let state: NIOLockedValueBox<State>

    /// - Parameter limit: In bytes.
    package init(limit: Int = IncomingBodies.limit) {
        state = NIOLockedValueBox(State(ledger: IncomingBodyLedger(limit: limit)))
    }

    /// Starts to count a body when its first bytes arrive. Returns its key.
    ///
    /// - Parameter close: Closes its connection.
    /// - Throws: ``BodyMemoryExhausted``; then nothing is counted.
    func add(_ bytes: Int, close: @escaping @Sendable () -> Void) throws(BodyMemoryExhausted) -> Int {
        let key = state.withLockedValue { state in
            let key = state.ledger.begin()
            state.closeHandlers[key] = close
            return key
        }
        try grow(key, by: bytes)
        return key
    }

    /// Counts more bytes of a body and closes other connections if there are too many bytes.
    ///
    /// - Throws: ``BodyMemoryExhausted``; then the body no longer counts.
    func grow(_ key: Int, by bytes: Int) throws(BodyMemoryExhausted) {
        let closeHandlers = state.withLockedValue { state -> [@Sendable () -> Void]? in
            guard let dropped = state.ledger.grow(key, by: bytes) else {
                state.closeHandlers[key] = nil
                return nil
            }
            return dropped.compactMap { state.closeHandlers.removeValue(forKey: $0) }
        }
        guard let closeHandlers else { throw BodyMemoryExhausted() }
        for close in closeHandlers { close() }
    }

    /// Marks the body as complete: its connection is no longer closed in favour of others.
    func complete(_ key: Int) {
        state.withLockedValue { state in
            state.ledger.complete(key)
            state.closeHandlers[key] = nil
        }
    }

    /// Call when the request is answered or its connection is gone.
    func remove(_ key: Int) {
        state.withLockedValue { state in
            state.ledger.remove(key)
            state.closeHandlers[key] = nil
        }
    }
}

/// Decides which bodies must be dropped.
struct IncomingBodyLedger {
    private struct Entry {
        var bytes = 0
        /// When it last grew, counted in calls.
        var moment: Int
        var isComplete = false
    }

    private let limit: Int
    private var entries: [Int: Entry] = [:]
    private var moment = 0
    private(set) var total = 0

    init(limit: Int) { self.limit = limit }

    mutating func begin() -> Int {
        moment += 1
        entries[moment] = Entry(moment: moment)
        return moment
    }

    /// - Returns: The keys of bodies dropped to make room; nil if there is no room and the growing body itself was
    ///   dropped.
    mutating func grow(_ key: Int, by bytes: Int) -> [Int]? {
        // It was dropped before, but its connection does not know that yet.
        guard entries[key] != nil else { return nil }
        moment += 1
        entries[key]?.bytes += bytes
        entries[key]?.moment = moment
        total += bytes
        guard total > limit else { return [] }
        let others = entries.filter { $0.key != key && !$0.value.isComplete && $0.value.bytes > 0 }
        guard total - others.values.reduce(0, { $0 + $1.bytes }) <= limit else {
            remove(key)
            return nil
        }
        var dropped: [Int] = []
        for other in others.sorted(by: { $0.value.moment < $1.value.moment }) where total > limit {
            remove(other.key)
            dropped.append(other.key)
        }
        return dropped
    }

    mutating func complete(_ key: Int) { entries[key]?.isComplete = true }

    mutating func remove(_ key: Int) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        total -= entry.bytes
    }
}
