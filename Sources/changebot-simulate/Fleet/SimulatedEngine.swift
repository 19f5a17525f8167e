internal import BotState
internal import Fleet
internal import GRDB
internal import TestKit

/// The engine of a fleet, in memory: the log that its members share, and their state. It has the rules of the one in
/// PostgreSQL, and its own clock.
final class SimulatedEngine: @unchecked Sendable {
    private unowned let world: World
    let log: MemoryEngine
    let state: StateCheck
    private let database: DatabaseQueue
    private var numbers: SplitMix64
    private var hasCommits = false
    /// Until when each member has its leases, in seconds since 1970, as the table `member` has it.
    private var members: [String: Int] = [:]
    /// The process that writes the mark of the database.
    private var markWriter: Scheduler.Owner?
    let commits: CommitCheck
    var check = FleetCheck()
    /// Nil: it works.
    var outage: Outage? { didSet { if outage == nil { carryOutHeldCalls() } } }
    /// Calls that arrived while it was silent.
    private var held: [() -> Void] = []

    enum Outage: String {
        case unreachable
        /// Calls are carried out when it works again, unless the connection has ended by then.
        case silent
    }

    /// A call of a process on its way.
    struct Call {
        let process: Scheduler.Owner
        let lost: EngineConnection.LostCalls?
        /// How long its answer takes; nil: as usual.
        let lateness: Duration?
        /// Whether it may change something: if there is no answer, this is unknown.
        let isChange: Bool
    }

    init(_ world: World, seed: UInt64) {
        (self.world, numbers) = (world, SplitMix64(seed: seed))
        let scheduler = world.scheduler
        nonisolated(unsafe) let clock = scheduler
        do { database = try Self.newDatabase() } catch {
            fatalError("SQLite can't create the state of the fleet: \(error)")
        }
        state = StateCheck(database)
        let commits = CommitCheck(world, SQLiteStore(database: database, path: "the fleet"))
        self.commits = commits
        log = MemoryEngine(
            partitions: numbers.pick([4, 16, 64]), time: { .nanoseconds(clock.uptime) },
            observer: { commits.note($0) })
    }

    /// What the state of a fleet has in addition, as in `Schema.fleetTables`.
    private static let tables = """
        CREATE TABLE member (owner TEXT PRIMARY KEY, until INTEGER NOT NULL);
        CREATE TABLE mark_write (id TEXT PRIMARY KEY, at INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER)));
        """

    /// The state as a process with this membership has it.
    func store(_ connection: EngineConnection) -> EngineStateStore {
        EngineStateStore(SQLiteStore(database: database, path: "the fleet"), connection)
    }

    /// Whether anything was written since this was last asked.
    func takeCommits() -> Bool {
        defer { hasCommits = false }
        return hasCommits
    }

    // MARK: - Calls

    /// Carries a call there and back. If there was no answer in time, answers with an error; a later answer may follow.
    ///
    /// - Parameter after: The earliest uptime at which it arrives.
    /// - Returns: When it arrives.
    @discardableResult
    func carry<Value>(
        _ call: Call, after: Int64 = 0, _ body: @escaping () throws -> Value,
        _ answer: @escaping (Result<Value, any Error>) -> Void
    ) -> Int64 {
        let scheduler = world.scheduler
        let arrival = max(scheduler.uptime + latency.nanoseconds, after)
        let reply = { (result: Result<Value, any Error>) in
            scheduler.acting(as: call.process) { answer(result) }
        }
        let giveUp = { [self] in
            let reason = "no answer of the engine in time"
            let error = call.isChange ? WorkLogError.unknownCommit(reason) : .unavailable(reason)
            scheduler.after(deadline) { reply(.failure(error)) }
        }
        let fault = outage == nil && call.lost == nil ? world.faults.ofNextCall() : nil
        let isLost = fault == .lostEngineAnswer && numbers.chance(3)
        let delay = fault == .lateEngineAnswer ? Duration.milliseconds(500 + numbers.below(4_000)) : call.lateness
        scheduler.after(.nanoseconds(arrival - scheduler.uptime)) { [self] in
            if outage == .unreachable {
                return scheduler.after(latency) { reply(.failure(WorkLogError.unavailable("connection refused"))) }
            }
            guard !isLost, call.lost != .requests else { return giveUp() }
            let isAnswerLost = fault == .lostEngineAnswer || call.lost != nil
            carryOut(call.process) {
                let result = Result { try body() }
                if !isAnswerLost { scheduler.after(delay ?? self.latency) { reply(result) } }
            }
            if isAnswerLost || delay != nil || outage != nil { giveUp() }
        }
        return arrival
    }

    private func carryOut(_ process: Scheduler.Owner, _ body: @escaping () -> Void) {
        let body = { [self] in
            body()
            check.note(log, process, at: .nanoseconds(world.scheduler.uptime))
        }
        if outage == nil { body() } else { held.append(body) }
    }

    /// Those of connections that still exist.
    private func carryOutHeldCalls() {
        let calls = held
        held = []
        for call in calls where numbers.chance(2) { call() }
    }

    /// How long a process waits for an answer. Connections of real engines have different limits.
    private var deadline: Duration { numbers.chance(4) ? .seconds(10) : .milliseconds(1_600 + numbers.below(1_000)) }

    private var latency: Duration {
        numbers.chance(20) ? .milliseconds(numbers.below(100)) : .microseconds(100 + numbers.below(1_000))
    }

    /// A transaction of a member that changes the state. If it throws, nothing is changed.
    ///
    /// - Throws: ``WorkLogError`` `.fenced`, what `body` throws.
    func write<Value>(_ connection: EngineConnection, _ body: () throws -> Value) throws -> Value {
        guard
            let number = connection.log.membership,
            log.hasMembership(connection.log.owner, number) || world.breakage == .unfencedCommit
        else {
            throw WorkLogError.fenced("this member's membership is over")
        }
        let now = Duration.nanoseconds(world.scheduler.uptime)
        world.checking { try check.checkTransaction(by: connection.log.owner, at: now) }
        try recordMembers()
        hasCommits = true
        return try body()
    }

    /// Members that end without leaving stay in the table.
    private func recordMembers() throws {
        let (scheduler, expiries) = (world.scheduler, log.expiries)
        let now = scheduler.wallSeconds
        var known = members.filter { expiries[$0.key] != nil || $0.value <= now }
        for (owner, until) in expiries {
            known[owner] = Int((until.nanoseconds + scheduler.wallLead) / 1_000_000_000)
        }
        guard known != members else { return }
        let changed = known.filter { members[$0.key] != $0.value }.sorted { $0.key < $1.key }
        let left = members.keys.filter { known[$0] == nil }.sorted()
        members = known
        try database.write { database in
            for (owner, until) in changed {
                try database.execute(sql: "INSERT OR REPLACE INTO member VALUES (?, ?)", arguments: [owner, until])
            }
            for owner in left { try database.execute(sql: "DELETE FROM member WHERE owner = ?", arguments: [owner]) }
        }
    }

    // MARK: - Checks

    /// See ``FleetCheck/checkBegin(_:by:_:_:at:)``.
    func checkBegin(_ ids: [String], by process: Scheduler.Owner, _ what: String) throws {
        // A process that was suspended may begin what it has decided just before.
        guard !world.scheduler.wasSuspended(process, within: FleetCheck.delay) else { return }
        try check.checkBegin(ids, by: process, what, log, at: .nanoseconds(world.scheduler.uptime))
    }

    // MARK: - Copies

    /// The log and the state at one moment.
    struct Copy {
        fileprivate let log: MemoryEngine.Snapshot
        fileprivate let state: DatabaseQueue
        fileprivate let members: [String: Int]
    }

    var copy: Copy {
        do {
            let state = try DatabaseQueue()
            try database.backup(to: state)
            return Copy(log: log.snapshot, state: state, members: members)
        } catch { fatalError("SQLite can't copy the state of the fleet: \(error)") }
    }

    /// All that happened since then is lost.
    func restore(_ copy: Copy) {
        do { try copy.state.backup(to: database) } catch { world.stop("the state can't be restored: \(error)") }
        log.restore(copy.log)
        members = copy.members
    }

    /// It is replaced by an empty one.
    func forgetEverything() {
        do { try Self.newDatabase().backup(to: database) } catch { world.stop("the state can't be emptied: \(error)") }
        log.wipe()
        members = [:]
    }

    private static func newDatabase() throws -> DatabaseQueue {
        let database = try DatabaseQueue()
        try SQLiteStore.prepare(database)
        try database.write { try $0.execute(sql: tables) }
        return database
    }

    // MARK: - The mark of the database

    /// - Returns: False if another process writes the mark.
    func lockMark(for process: Scheduler.Owner) -> Bool {
        if let markWriter, markWriter != process, world.scheduler.isRunning(markWriter) { return false }
        markWriter = process
        return true
    }

    func unlockMark(of process: Scheduler.Owner) { if markWriter == process { markWriter = nil } }
}
