internal import NIOConcurrencyHelpers

/// The request bodies of all connections that are in memory, from their first piece until the request is answered.
///
/// Above the limit for all of them, the connections whose bodies have not grown for longest are closed. Bodies that are
/// complete stay, since their requests are being carried out; if those alone leave no room, the growing body is refused.
final class IncomingBodies: Sendable {
    /// Bytes, over all connections.
    static let limit = 256 << 20

    /// No room is left: the client may try again later.
    struct NoRoom: Error {}

    private struct State {
        var ledger: IncomingBodyLedger
        var closings: [Int: @Sendable () -> Void] = [:]
    }

    private let state: NIOLockedValueBox<State>

    init(limit: Int = IncomingBodies.limit) {
        state = NIOLockedValueBox(State(ledger: IncomingBodyLedger(limit: limit)))
    }

    /// Counts a body whose first bytes have come.
    ///
    /// - Parameter close: Closes its connection.
    /// - Throws: ``NoRoom``; nothing is counted then.
    func add(_ bytes: Int, close: @escaping @Sendable () -> Void) throws(NoRoom) -> Int {
        let key = state.withLockedValue { state in
            let key = state.ledger.begin()
            state.closings[key] = close
            return key
        }
        try grow(key, by: bytes)
        return key
    }

    /// Counts more bytes of a body, and closes other connections if they are too many.
    ///
    /// - Throws: ``NoRoom``; the body does not count any more then.
    func grow(_ key: Int, by bytes: Int) throws(NoRoom) {
        let closings = state.withLockedValue { state -> [@Sendable () -> Void]? in
            guard let dropped = state.ledger.grow(key, by: bytes) else {
                state.closings[key] = nil
                return nil
            }
            return dropped.compactMap { state.closings.removeValue(forKey: $0) }
        }
        guard let closings else { throw NoRoom() }
        for close in closings { close() }
    }

    /// The body has come to its end: its connection is not closed for others any more.
    func complete(_ key: Int) {
        state.withLockedValue { state in
            state.ledger.complete(key)
            state.closings[key] = nil
        }
    }

    /// The request is answered, or its connection is gone.
    func remove(_ key: Int) {
        state.withLockedValue { state in
            state.ledger.remove(key)
            state.closings[key] = nil
        }
    }
}

/// Decides which bodies have to go.
struct IncomingBodyLedger {
    private struct Entry {
        var bytes = 0
        /// The moment at which it grew last, counted in calls.
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

    /// - Returns: The keys of the bodies that were dropped to make room; nil if there is no room, and the growing body
    ///   itself was dropped.
    mutating func grow(_ key: Int, by bytes: Int) -> [Int]? {
        // It was dropped before, and its connection does not know it yet.
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
