internal import Encodings
internal import Fleet
internal import FoundationEssentials
internal import Locking

/// A ``WorkLog`` in the file of a state, for one process: what ``PostgresWorkLog`` does, without a server.
///
/// The tables are those of ``SQLiteLogTables``, in the ledger's file and on its connection. So a dead change and its dead
/// letter are one transaction, and so are a checkpoint that is set and the log that moves with it. A copy of the file has
/// both. A file beside it would need a connection that waits for the ledger's writes.
///
/// Every call is one transaction, on disk when it returns. Cancelling the caller does not cancel the transaction. Tokens,
/// versions and times are checked as if there were other members, although the state's lock keeps them out.
final class SQLiteWorkLog: WorkLog {
    /// Long, because nobody waits for its end: the lock of the state says that a process is gone. Each renewal is a
    /// write.
    static let leaseTime: Duration = .seconds(60)

    let owner: String
    let partitions: Int
    let leaseTime: Duration
    private let works: Bool
    private let store: any StateStore
    private let path: String
    private let time: @Sendable () -> Int
    private let state = Locked(State())
    private let fenced = FencedCommits()
    /// Something may be new for ``news(_:within:)``.
    private let changed = Signal()

    private struct State {
        /// What this handle has seen last: an incarnation, and how many changes it had. A file with fewer is an older one.
        var seen: (incarnation: String, changes: Int) = ("", 0)
    }

    /// - Parameters:
    ///   - path: For messages.
    ///   - owner: Of this start of the process alone.
    ///   - works: False: a member that only leads.
    ///   - partitions: Of a new log; of another one the number that it has.
    ///   - time: Milliseconds since 1970.
    init(
        _ store: any StateStore, path: String, owner: String = UUID().uuidString, works: Bool = true,
        leaseTime: Duration = SQLiteWorkLog.leaseTime, partitions: Int,
        time: @escaping @Sendable () -> Int = SQLiteWorkLog.timeOfDay()
    ) {
        (self.store, self.path, self.owner, self.works) = (store, path, owner, works)
        (self.leaseTime, self.partitions, self.time) = (leaseTime, partitions, time)
    }

    /// The time of day when it was made, and what has passed since: so a clock that is set has no effect in between, and
    /// what was parked before a restart is due in time.
    static func timeOfDay() -> @Sendable () -> Int {
        let (origin, start) = (Timestamp.secondsNow * 1000, ContinuousClock.now)
        return { origin + start.duration(to: .now).wholeMilliseconds }
    }

    /// Makes the tables if they are missing.
    ///
    /// - Throws: ``StateError``: also if the log has another number of partitions.
    func prepare() async throws(StateError) {
        do {
            try await store.write { [path, partitions] session in
                try SQLiteLogTables.prepare(partitions: partitions, path: path, session)
            }
        } catch {
            throw store.error(.writing, error)
        }
    }

    /// Ends all leases, because their owners are gone: this process alone has the state. They count as lost.
    func beginAlone() async throws(WorkLogError) { try await call { try $0.beginAlone() } }

    // MARK: Calls

    func incarnation() async throws(WorkLogError) -> String { try await call { $0.incarnation } }

    func renew() async throws(WorkLogError) -> Fleet.Renewal {
        try await call { [works] in try $0.renew(works: works) }
    }

    func claim(_ partitions: [Int], atMost limit: Int) async throws(WorkLogError) -> [Claim] {
        try await call { try $0.claim(partitions, atMost: limit) }
    }

    func refresh(_ claim: Claim) async throws(WorkLogError) -> Claim {
        try await call {
            try $0.check(claim.lease)
            return try $0.state(of: claim.partition, claim.lease)
        }
    }

    func release(_ lease: Lease) async throws(WorkLogError) { try await call { try $0.release(lease) } }

    func leave() async throws(WorkLogError) { try await call { try $0.leave() } }

    func lead() async throws(WorkLogError) -> Term? { try await call { try $0.lead() } }

    func append(
        _ entries: [FeedEntry], upTo sequence: String?, _ term: Term
    ) async throws(WorkLogError) -> Term {
        let stored = try await fenced.counting { () async throws(WorkLogError) in
            try await call { [partitions] in try $0.append(entries, upTo: sequence, term, among: partitions) }
        }
        if !entries.isEmpty { changed.raise() }
        return stored
    }

    func answered() async throws(WorkLogError) -> Answered? { try await call { try $0.answered() } }

    func hasPassed(_ n: Int64) async throws(WorkLogError) -> Bool { try await call { try $0.hasPassed(n) } }

    func news(_ interests: [Interest], within time: Duration) async throws(WorkLogError) -> [News] {
        let (found, due) = try await call { log in
            let found = try log.news(interests)
            return (found, found.isEmpty ? try log.timeUntilDue(interests.map(\.claim.partition)) : nil)
        }
        guard found.isEmpty, time > .zero else { return found }
        do { try await changed.wait(until: .now + min(time, due ?? time)) } catch { throw .unavailable("cancelled") }
        return try await call { try $0.news(interests) }
    }

    func next(_ claim: Claim, after n: Int64, limit: Int) async throws(WorkLogError) -> [LoggedChange] {
        try await call { try $0.next(claim, after: n, limit: limit) }
    }

    func due(_ claim: Claim, limit: Int) async throws(WorkLogError) -> [LoggedChange] {
        try await call { try $0.due(claim, limit: limit) }
    }

    func commit(_ claim: Claim, _ outcome: Outcome) async throws(WorkLogError) -> Claim {
        let stored = try await fenced.counting { () async throws(WorkLogError) in
            try await call { try $0.commit(claim, outcome) }
        }
        if !outcome.parked.isEmpty || !outcome.joined.isEmpty { changed.raise() }
        return stored
    }

    func backlog() async throws(WorkLogError) -> Backlog {
        var backlog = try await call { try $0.backlog() }
        backlog.fencedCommits = fenced.count
        return backlog
    }

    // MARK: Transactions

    private func call<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteLog) throws -> Result
    ) async throws(WorkLogError) -> Result {
        let seen = state.withLock(\.seen)
        do {
            // In a task of its own, which nobody cancels: so it is always known whether a change is stored.
            let (result, incarnation, changes) = try await Task { [store, owner, time, leaseTime] in
                while true {
                    let done = try await store.write { session -> (Result, String, Int)? in
                        let log = try SQLiteLog(
                            session, owner: owner, now: time(), leaseTime: leaseTime.wholeMilliseconds)
                        guard log.incarnation != seen.incarnation || log.changes >= seen.changes else {
                            try log.beginAfterLoss()
                            return nil
                        }
                        let result = try body(log)
                        return (result, log.incarnation, log.changes)
                    }
                    if let done { return done }
                }
            }.value
            state.withLock { state in
                let isOlder = state.seen.incarnation == incarnation && state.seen.changes >= changes
                if !isOlder { state.seen = (incarnation, changes) }
            }
            return result
        } catch let error as WorkLogError {
            throw error
        } catch {
            throw WorkLogError(store.error(.writing, error))
        }
    }
}

extension WorkLogError {
    /// What an error of a state's file means for a log in it: as for the ledger, only another process that is writing is
    /// waited for.
    fileprivate init(_ error: StateError) {
        switch error {
        case .locked: self = .unavailable("\(error)")
        case .cannotWrite(_, let reason), .cannotCreate(_, let reason), .unreadable(_, let reason):
            self = .refused(reason)
        default: self = .refused("\(error)")
        }
    }
}
