internal import NIOConcurrencyHelpers

/// The answers of all connections that wait in memory for their clients to read.
///
/// A connection sends one piece of an answer at a time. The piece counts whole until all of it is taken, since all of
/// it stays in memory. Above the limit for all of them, the connections whose clients have taken nothing for longest
/// are closed. What they have left in memory is waited for before more is made.
final class WaitingOutput: Sendable {
    /// Bytes, over all connections.
    static let limit = 128 << 20

    private struct State {
        var ledger: WaitingOutputLedger
        var closings: [Int: @Sendable () -> Void] = [:]
        /// Answers that wait for room, the first one first.
        var waiters: [CheckedContinuation<Void, Never>] = []
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

    /// The client has taken all that it was given so far.
    func advance(_ key: Int) { state.withLockedValue { $0.ledger.advance(key) } }

    /// The client is given more of the bytes.
    func wait(_ key: Int) { state.withLockedValue { $0.ledger.wait(key) } }

    func remove(_ key: Int) {
        state.withLockedValue { state in
            state.ledger.remove(key)
            _ = state.closings.removeValue(forKey: key)
        }
        resumeNext()
    }

    /// Waits until closed connections have given back their memory, if there is too little without it.
    ///
    /// Who makes something to send calls it first: the tasks of closed connections would come to their ends only after
    /// those of hundreds of new requests.
    func room() async {
        while !state.withLockedValue({ $0.ledger.hasRoom }) {
            await withCheckedContinuation { continuation in
                state.withLockedValue { $0.waiters.append(continuation) }
                resumeNext()
            }
        }
        resumeNext()
    }

    /// One at a time: it looks again, and resumes the next.
    private func resumeNext() {
        let next = state.withLockedValue { state in
            state.ledger.hasRoom && !state.waiters.isEmpty ? state.waiters.removeFirst() : nil
        }
        next?.resume()
    }
}

/// Decides whose connection is closed.
struct WaitingOutputLedger {
    private struct Entry {
        var bytes: Int
        /// The moment of the last progress, counted in calls.
        var moment: Int
        /// Whether the client has something to take. Else it waits for this process.
        var isDue = true
    }

    private let limit: Int
    private var entries: [Int: Entry] = [:]
    /// Bytes of dropped connections that are still in memory.
    private var leaving: [Int: Int] = [:]
    private var leavingTotal = 0
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

    /// Whether more may be made. One that exceeds the limit by itself keeps nobody waiting: it is dropped for others.
    var hasRoom: Bool { leavingTotal == 0 || total + leavingTotal <= limit }

    private mutating func drop(_ key: Int) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        total -= entry.bytes
        leaving[key] = entry.bytes
        leavingTotal += entry.bytes
    }

    /// The bytes are sent, or their connection has ended.
    mutating func remove(_ key: Int) {
        if let bytes = leaving.removeValue(forKey: key) { leavingTotal -= bytes }
        guard let entry = entries.removeValue(forKey: key) else { return }
        total -= entry.bytes
    }

    private func oldest(except key: Int) -> Int? {
        entries.filter { $0.key != key }.min {
            $0.value.isDue == $1.value.isDue ? $0.value.moment < $1.value.moment : $0.value.isDue
        }?.key
    }
}
