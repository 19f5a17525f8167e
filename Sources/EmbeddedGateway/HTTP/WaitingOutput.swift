internal import NIOConcurrencyHelpers

/// The answers of all connections that wait in memory for their clients to read.
///
/// One connection holds one piece of an answer at a time. Above the limit for all of them, the connections whose
/// clients have taken nothing for longest are closed.
final class WaitingOutput: Sendable {
    /// Bytes, over all connections.
    static let limit = 128 << 20

    private struct State {
        var ledger: WaitingOutputLedger
        var closings: [Int: @Sendable () -> Void] = [:]
    }

    private let state: NIOLockedValueBox<State>

    init(limit: Int = WaitingOutput.limit) {
        state = NIOLockedValueBox(State(ledger: WaitingOutputLedger(limit: limit)))
    }

    /// Most bytes that have waited at once.
    var peak: Int { state.withLockedValue { $0.ledger.peak } }

    /// Counts bytes that are about to be sent, and closes other connections if they are too many.
    func add(_ bytes: Int, close: @escaping @Sendable () -> Void) -> Int {
        let (key, closings) = state.withLockedValue { state in
            let (key, closed) = state.ledger.add(bytes)
            state.closings[key] = close
            return (key, closed.compactMap { state.closings.removeValue(forKey: $0) })
        }
        for close in closings { close() }
        return key
    }

    /// The client has taken some bytes.
    func take(_ bytes: Int, of key: Int) { state.withLockedValue { $0.ledger.take(bytes, of: key) } }

    func remove(_ key: Int) {
        state.withLockedValue { state in
            state.ledger.remove(key)
            _ = state.closings.removeValue(forKey: key)
        }
    }
}

/// Decides whose connection is closed.
struct WaitingOutputLedger {
    private struct Entry {
        var bytes: Int
        /// The moment of the last progress, counted in calls.
        var moment: Int
    }

    private let limit: Int
    private var entries: [Int: Entry] = [:]
    private var moment = 0
    private(set) var total = 0
    private(set) var peak = 0

    init(limit: Int) { self.limit = limit }

    /// - Returns: The key of the new entry, and the keys of those that were dropped for it: the longest without progress
    ///   first. The new one stays, however large it is.
    mutating func add(_ bytes: Int) -> (key: Int, dropped: [Int]) {
        moment += 1
        let key = moment
        entries[key] = Entry(bytes: bytes, moment: moment)
        total += bytes
        var dropped: [Int] = []
        while total > limit, let oldest = oldest(except: key) {
            remove(oldest)
            dropped.append(oldest)
        }
        peak = max(peak, total)
        return (key, dropped)
    }

    mutating func take(_ bytes: Int, of key: Int) {
        guard let entry = entries[key] else { return }
        moment += 1
        entries[key] = Entry(bytes: entry.bytes - bytes, moment: moment)
        total -= bytes
    }

    mutating func remove(_ key: Int) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        total -= entry.bytes
    }

    private func oldest(except key: Int) -> Int? {
        entries.filter { $0.key != key }.min { $0.value.moment < $1.value.moment }?.key
    }
}
