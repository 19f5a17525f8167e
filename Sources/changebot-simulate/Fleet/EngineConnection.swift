internal import BotState
internal import Fleet
internal import Locking
internal import TestKit

/// The calls of one process to the engine.
final class EngineConnection: EngineLink, MarkLock, @unchecked Sendable {
    private static let maxMarkWait = Duration.seconds(30)

    private unowned let world: World
    let engine: SimulatedEngine
    private let process: Scheduler.Owner
    /// The engine's time of day, as this process knows it.
    let clock = EngineClock()
    // Set by the initializer, which it needs.
    private(set) var log: MemoryWorkLog<EngineConnection>!
    /// When the last transaction on the state arrives: they are carried out in order.
    private var lastArrival: Int64 = 0
    /// What is lost on the way to the engine. Nil: nothing.
    var lostCalls: LostCalls?
    /// How long its answers take; nil: as usual.
    var lateness: Duration?

    /// The calls without an answer, by their numbers: how to end them.
    private var open: [Int: () -> Void] = [:]
    private var count = 0
    private var isAborted = false

    enum LostCalls: String { case requests, answers }

    init(_ world: World, _ engine: SimulatedEngine, of process: Scheduler.Owner) {
        (self.world, self.engine, self.process) = (world, engine, process)
        log = MemoryWorkLog(
            engine.log, owner: "bot \(process)", link: self, clock: SystemFleetClock(),
            endsWithMembership: true,
            noteTime: { [unowned self] time, sent in
                let milliseconds = (time.nanoseconds + self.world.scheduler.wallLead) / 1_000_000
                clock.note(Int(milliseconds), sent: sent)
            })
    }

    /// The state that this process shares with other members.
    var state: SharedState {
        SharedState(engine.store(self), owner: log.owner, markLock: self, description: "the fleet")
    }

    // MARK: - Calls

    func call<Result: Sendable>(
        isChange: Bool, _ body: @escaping @Sendable () throws(WorkLogError) -> Result
    ) async throws(WorkLogError) -> Result {
        do { return try await exchange(isChange: isChange, isOrdered: false, body) } catch let error as WorkLogError {
            throw error
        } catch {
            throw .refused("\(error)")
        }
    }

    /// A transaction on the state.
    func transaction<Value: Sendable>(
        isChange: Bool, _ body: @escaping () throws -> Value
    ) async throws -> Value {
        try await exchange(isChange: isChange, isOrdered: true, body)
    }

    /// A transaction on the state that does not wait. The simulated clock can't advance meanwhile.
    func transactionNow<Value>(_ body: () throws -> Value) throws -> Value {
        guard engine.outage == nil, lostCalls == nil else {
            throw WorkLogError.unavailable("the engine is unreachable")
        }
        return try world.scheduler.acting(as: Scheduler.world, body)
    }

    private func exchange<Value: Sendable>(
        isChange: Bool, isOrdered: Bool, _ body: @escaping () throws -> Value
    ) async throws -> Value {
        var result: Result<Value, any Error>?
        await withNamedContinuation("an answer of the engine") { continuation in
            count += 1
            let number = count
            let answer = { [self] (found: Result<Value, any Error>) in
                guard open.removeValue(forKey: number) != nil else { return }
                result = found
                continuation.resume()
            }
            open[number] = { answer(.failure(WorkLogError.unknownCommit("the process ends"))) }
            let call = SimulatedEngine.Call(process: process, lost: lostCalls, lateness: lateness, isChange: isChange)
            let arrival = engine.carry(call, after: isOrdered ? lastArrival : 0, body, answer)
            if isOrdered { lastArrival = arrival }
            if isAborted { abortLater() }
        }
        guard let result else { throw WorkLogError.unavailable("no answer") }
        return try result.get()
    }

    // MARK: - The end of a process

    /// All calls end soon, as those of a process that has no time left. See `Engine.abortRemainingCalls()`.
    func abort() {
        isAborted = true
        abortLater()
    }

    /// Calls have time again.
    func allowCalls() { isAborted = false }

    private func abortLater() {
        world.scheduler.after(.milliseconds(300)) { [self] in
            guard isAborted else { return }
            for (_, end) in open.sorted(by: { $0.key < $1.key }) { world.scheduler.acting(as: process) { end() } }
        }
    }

    // MARK: - The mark of the database

    func withExclusiveMark(waits: Bool, _ body: () async throws -> Void) async throws {
        let end = ContinuousClock.now + Self.maxMarkWait
        while .now < end {
            let isOwnLock: Bool
            do { isOwnLock = try await lockMark() } catch {
                if waits { throw error }
                return
            }
            if isOwnLock { break }
            guard waits else { return }
            try await Task.sleep(for: .milliseconds(50))
        }
        defer { engine.unlockMark(of: process) }
        try await body()
    }

    /// - Returns: False if another member has the lock.
    private func lockMark() async throws -> Bool {
        do {
            return try await transaction(isChange: true) { [engine, process] in engine.lockMark(for: process) }
        } catch let error as WorkLogError {
            throw engine.store(self).error(.reading, error)
        }
    }
}

/// The state of the fleet, in the engine. Each transaction that writes needs a membership.
struct EngineStateStore: StateStore {
    private let tables: SQLiteStore
    private let connection: EngineConnection

    init(_ tables: SQLiteStore, _ connection: EngineConnection) {
        (self.tables, self.connection) = (tables, connection)
    }

    var dialect: SQLDialect { tables.dialect }

    func read<Value>(_ body: (any StateSession) throws -> Value) throws -> Value {
        try connection.transactionNow { try tables.read(body) }
    }

    func read<Value: Sendable>(_ body: @escaping @Sendable (any StateSession) throws -> Value) async throws -> Value {
        try await connection.transaction(isChange: false) { [tables] in try tables.read(body) }
    }

    func write<Value: Sendable>(_ body: @escaping @Sendable (any StateSession) throws -> Value) async throws -> Value {
        try await connection.transaction(isChange: true) { [tables, connection] in
            try connection.engine.write(connection) { try tables.writeNow(body) }
        }
    }

    func writeNow<Value>(_ body: (any StateSession) throws -> Value) throws -> Value {
        try connection.transactionNow { try connection.engine.write(connection) { try tables.writeNow(body) } }
    }

    func error(_ purpose: StatePurpose, _ error: any Error) -> StateError {
        switch error {
        case let error as StateError: error
        case WorkLogError.fenced(let reason): .fenced(reason)
        case let error as WorkLogError: .engineUnavailable("the fleet: \(error)")
        default: tables.error(purpose, error)
        }
    }

    /// Other members use the tables, too.
    func close() {}
}
