internal import NIOConcurrencyHelpers

/// The answers of all connections that wait in memory until their clients read them.
///
/// A connection sends one piece of an answer at a time. The whole piece counts until all of it is taken, because it
/// stays in memory. If the total exceeds the limit, the connections whose clients have read nothing for the longest
/// time are closed. Their memory must be free before new answers are made.
package final class WaitingOutput: Sendable {
    /// In bytes, for all connections together.
    package static let limit = 128 << 20

    private struct State {
        var ledger: WaitingOutputLedger
        var closeHandlers: [Int: @Sendable () -> Void] = [:]
        /// Answers that wait for room, in order of arrival.
        var waiters: [CheckedContinuation<Void, Never>] = []
    }

    private let state: NIOLockedValueBox<State>

    /// - Parameter limit: In bytes.
    package init(limit: Int = WaitingOutput.limit) {
        state = NIOLockedValueBox(State(ledger: WaitingOutputLedger(limit: limit)))
    }

    /// The maximum number of bytes that have waited at the same time.
    package var peak: Int { state.withLockedValue { $0.ledger.peak } }

    /// Counts bytes that are about to be sent and closes other connections if there are too many. Returns a key.
    func add(_ bytes: Int, close: @escaping @Sendable () -> Void) -> Int {
        let (key, closeHandlers) = state.withLockedValue { state in
            let (key, closed) = state.ledger.add(bytes)
            state.closeHandlers[key] = close
            return (key, closed.compactMap { state.closeHandlers.removeValue(forKey: $0) })
        }
        for close in closeHandlers { close() }
        return key
    }

    /// Records that the client has taken everything sent so far.
    func advance(_ key: Int) { state.withLockedValue { $0.ledger.advance(key) } }

    /// Records that more bytes are being sent to the client.
    func wait(_ key: Int) { state.withLockedValue { $0.ledger.wait(key) } }

    func remove(_ key: Int) {
        state.withLockedValue { state in
            state.ledger.remove(key)
            _ = state.closeHandlers.removeValue(forKey: key)
        }
        resumeNext()
    }

    /// Waits until closed connections have released their memory, if room is short.
    ///
    /// Call before making anything to send: otherwise hundreds of new requests would run before the tasks of closed
    /// connections end.
    func room() async {
        while !state.withLockedValue({ $0.ledger.hasRoom }) {
            await withCheckedContinuation { continuation in
                state.withLockedValue { $0.waiters.append(continuation) }
                resumeNext()
            }
        }
        resumeNext()
    }

    /// Resumes one waiter, which checks again and resumes the next.
    private func resumeNext() {
        let next = state.withLockedValue { state in
            state.ledger.hasRoom && !state.waiters.isEmpty ? state.waiters.removeFirst() : nil
        }
        next?.resume()
    }
}

/// Decides which connection is closed.
struct WaitingOutputLedger {
    private struct Entry {
        var bytes: Int
        /// When it last made progress, counted in calls.
        var moment: Int
        /// Whether the client has data to read; otherwise it waits for this process.
        var isDue = true
    }

    private let limit: Int
    private var entries: [Int: Entry] = [:]
    /// Bytes of dropped connections that are still in memory.
    private var closing: [Int: Int] = [:]
    private var closingTotal = 0
    private var moment = 0
    private(set) var total = 0
    private(set) var peak = 0

    init(limit: Int) { self.limit = limit }

    /// - Returns: The key of the new entry, and the dropped keys, longest without progress first. The new entry is
    ///   kept, however large it is.
    mutating func add(_ bytes: Int) -> (key: Int, dropped: [Int]) {
        moment += 1
        let key = moment
        entries[key] = Entry(bytes: bytes, moment: moment)
        total += bytes
        var dropped: [Int] = []
        while total > limit, let oldest = oldest(except: key) {
            drop(oldest)
            dropped.append(oldest)
        }
        peak = max(peak, total)
        return (key, dropped)
    }

    mutating func advance(_ key: Int) { note(key, isDue: false) }

    mutating func wait(_ key: Int) { note(key, isDue: true) }

    private mutating func note(_ key: Int, isDue: Bool) {
        moment += 1
        entries[key]?.moment = moment
        entries[key]?.isDue = isDue
    }

    /// Whether more answers may be made. A single answer above the limit does not block others: it is dropped for them.
    var hasRoom: Bool { closingTotal == 0 || total + closingTotal <= limit }

    private mutating func drop(_ key: Int) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        total -= entry.bytes
        closing[key] = entry.bytes
        closingTotal += entry.bytes
    }

    /// Call when the bytes are sent or their connection has ended.
    mutating func remove(_ key: Int) {
        if let bytes = closing.removeValue(forKey: key) { closingTotal -= bytes }
        guard let entry = entries.removeValue(forKey: key) else { return }
        total -= entry.bytes
    }

    private func oldest(except key: Int) -> Int? {
        entries.filter { $0.key != key }.min {
            $0.value.isDue == $1.value.isDue ? $0.value.moment < $1.value.moment : $0.value.isDue
        }?.key
    }
}
