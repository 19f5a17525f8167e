internal import DocumentFlow
internal import Encodings
internal import Locking

/// What a run on many databases knows about one of them, for its status.
package struct DatabaseFacts: Sendable {
    /// What the run does with it.
    package enum Phase: Sendable, Equatable {
        /// Nothing has changed.
        case quiet
        case working
        /// It waits for its turn.
        case waiting
        /// It can't be used, for this reason.
        case skipped(String)
    }

    package var phase = Phase.quiet
    /// Since when it is in this phase, in seconds since 1970. Nil: since before the start.
    package var since: Int?
    package var deadLetters = 0
    /// When its next timer or pass is due, in seconds since 1970. Nil: never.
    package var wakeAt: Int?
}

/// The status of a run on many databases: each of them, and the sums.
final class DatabaseTotals: Sendable {
    private struct State {
        var counters = RunCounters()
        var phase = RunFacts.Phase.connecting
        var sessions: [DatabaseSession] = []
        var queued = 0
        /// Since when databases wait for their turn.
        var queuedSince: ContinuousClock.Instant?
        var databases: [String: DatabaseFacts] = [:]
    }

    private let state = Locked(State())
    /// The outage of requests about the databases as a whole.
    let outage: Outage

    init(outage: Outage) { self.outage = outage }

    var counters: RunCounters { state.withLock(\.counters) }

    var facts: RunFacts {
        let (phase, counters, sessions, queuedSince) = state.withLock {
            ($0.phase, $0.counters, $0.sessions, $0.queuedSince)
        }
        var facts = RunFacts()
        (facts.phase, facts.counters) = (phase, counters)
        facts.behindSince = (sessions.compactMap(\.busySince) + [queuedSince].compactMap { $0 }).min()
        facts.outage = outage.status
        return facts
    }

    /// The databases, by their names.
    var databases: [String: DatabaseFacts] { state.withLock(\.databases) }

    /// The open dead letters of all databases.
    var deadLetters: Int { state.withLock { $0.databases.values.reduce(0) { $0 + $1.deadLetters } } }

    /// Whether the databases are known and none of them is worked on or waits for its turn.
    var hasNoOpenDatabase: Bool {
        state.withLock { $0.phase == .following && $0.sessions.isEmpty && $0.queued == 0 }
    }

    func add(_ counters: RunCounters) { state.withLock { $0.counters.add(counters) } }

    /// Changes what is known about a database.
    func update(_ name: String, _ change: (inout DatabaseFacts) -> Void) {
        state.withLock { state in
            let former = state.databases[name]?.phase
            change(&state.databases[name, default: DatabaseFacts()])
            if let phase = state.databases[name]?.phase, let former, phase != former {
                state.databases[name]?.since = Timestamp.secondsNow
            }
        }
    }

    /// Counts a new dead letter of a database.
    func noteDeadLetter(of name: String) { state.withLock { $0.databases[name]?.deadLetters += 1 } }

    func remove(_ name: String) { state.withLock { $0.databases[name] = nil } }

    /// - Parameters:
    ///   - queued: The number of databases that wait for their turn.
    ///   - sessions: Those that are worked on.
    func note(_ phase: RunFacts.Phase, queued: Int, _ sessions: [DatabaseSession]) {
        state.withLock { state in
            (state.phase, state.queued, state.sessions) = (phase, queued, sessions)
            state.queuedSince = queued > 0 ? state.queuedSince ?? .now : nil
        }
    }
}
