internal import BotState
internal import DocumentFlow
internal import Fleet
internal import FleetEngine
internal import Locking
internal import Logging
internal import PostgreSQL

/// A member of a fleet that waits until it may run.
///
/// It asks the engine only; the gateway hears nothing of it.
final class Standby: Sendable {
    let engine: Engine
    let ruleSetHash: String
    /// How it shares the work with others. Nil: it does not.
    let sharing: Sharing?
    private let report: RunReport
    private let observer: (any RunObserver)?
    let logger: Logger
    let queue: PostgresQueue
    /// How long it waits for tables that vanished.
    private let lossDelay: Duration
    private let state = Locked(State())

    private struct State {
        /// Whether this process was active or on standby before. From then on its configuration is right, and it does
        /// not end because the engine is reconfigured.
        var isEstablished = false
        /// Since when the tables are missing.
        var lostAt: ContinuousClock.Instant?
        var turnEndedAt: ContinuousClock.Instant?
        var told: (reason: String, at: ContinuousClock.Instant)?
    }

    init(
        _ engine: Engine, ruleSetHash: String, sharing: Sharing?, report: RunReport, observer: (any RunObserver)?,
        logger: Logger, lossDelay: Duration
    ) {
        self.lossDelay = lossDelay
        self.observer = observer
        self.sharing = sharing
        self.engine = engine
        self.ruleSetHash = ruleSetHash
        self.report = report
        self.logger = logger
        queue = engine.makeQueue()
    }

    /// How often it asks.
    private var interval: Duration { min(.milliseconds(500), engine.lease / 10) }

    /// Returns when no member is active, as far as the engine knows, and this member is not drained; waits while the engine can't
    /// be reached. Past the start, also while it refuses this process, and for some time if the tables are gone.
    ///
    /// - Throws: ``StateError`` if a retry is of no use; `CancellationError`.
    func untilFree() async throws {
        try await withTaskCancellationHandler {
            try await waitUntilFree()
        } onCancel: {
            engine.endCallsSoon()
        }
    }

    private func waitUntilFree() async throws {
        var news = StandbyNews(engine, lossDelay: lossDelay, observer: observer, logger: logger)
        news.warnOfUnverifiedEngine()
        while true {
            do {
                guard try await mustWait(&news) else { return await report.noteStandby(false) }
                await report.noteStandby(true, isDrained: news.isDrained)
                try await Task.sleep(for: interval)
            } catch let error as StateError {
                guard await canRetry(after: error) else { throw error }
                await report.noteStandby(true, isDrained: news.isDrained)
                news.tell(error)
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Asks the engine once.
    private func mustWait(_ news: inout StandbyNews) async throws -> Bool {
        let standing = try await standing()
        news.note(isDrained: standing == .drained)
        switch standing {
        case .free:
            news.tellOfTakeover()
            return false
        case .missing:
            guard await mustWaitForTables else { return false }
        case .drained, .runs: state.withLock { $0.isEstablished = true }
        }
        news.tell(standing)
        return true
    }

    /// What stands in the way of this member.
    enum Standing: Equatable {
        case free, missing
        /// This member was drained.
        case drained
        case runs(String)
    }

    /// Whether the tables may still come back.
    private var mustWaitForTables: Bool {
        get async {
            guard await isEstablished else { return false }
            return state.withLock { state in
                let lostAt = state.lostAt ?? .now
                state.lostAt = lostAt
                return lostAt.duration(to: .now) < lossDelay
            }
        }
    }

    /// Whether this process is past its start.
    var isEstablished: Bool {
        get async {
            let hasRun = await report.hasDelivered
            return state.withLock { state in
                state.isEstablished = state.isEstablished || hasRun
                return state.isEstablished
            }
        }
    }

    /// Whether this process goes on after an error of the engine.
    func canRetry(after error: StateError) async -> Bool {
        switch error {
        case .locked, .fenced, .engineUnavailable: true
        case .engineRefused: await isEstablished
        // The state folder is not the engine's.
        case .cannotCreate(let path, _): path == engine.description ? await isEstablished : false
        default: false
        }
    }

    /// What it does in the fleet, for those who ask.
    var role: String { sharing?.role.rawValue ?? "run" }

    /// Who runs. Tells the others that this member is there.
    private func standing() async throws -> Standing {
        do {
            return try await queue.perform { [engine, ruleSetHash, role, shares = sharing != nil] connection in
                guard try EngineSchema.isThere(engine.schema, connection) else { return .missing }
                try EngineMember.renew(engine, ruleSetHash: ruleSetHash, role: role, connection)
                try engine.tally.store(connection)
                if try EngineMember.isDrained(engine, connection) { return .drained }
                return try PostgresWorkLog.holder(besides: engine.owner, shares: shares, connection)
                    .map { .runs($0) } ?? .free
            }
        } catch let error as PostgresError where error.sqlState == EngineSchema.undefinedTable {
            // Removed after it was looked for.
            return .missing
        } catch {
            throw StateError.engine(engine, .reading, error)
        }
    }

    /// This member's turn is over. Waits a moment if the one before was over a moment ago: what is wrong may last.
    func note(_ error: StateError) async throws {
        if case .locked = error { return }
        if sharing == nil, case .fenced = error { engine.tally.add(.leaseLosses) }
        let (mustTell, mustWait) = state.withLock { state in
            let now = ContinuousClock.now
            let reason = "\(error)"
            let isKnown = state.told.map { $0.reason == reason && $0.at.duration(to: now) < Self.repetition } ?? false
            let isSoon = state.turnEndedAt.map { $0.duration(to: now) < Self.shortTurn } ?? false
            if !isKnown { state.told = (reason, now) }
            (state.turnEndedAt, state.lostAt) = (now, nil)
            return (!isKnown, isSoon)
        }
        if mustTell { logger.warning("stopped acting for the fleet", metadata: [LogKey.reason: "\(error)"]) }
        await report.reconnect()
        if mustWait { try await Task.sleep(for: .seconds(1)) }
    }

    private static let shortTurn: Duration = .seconds(5)
    /// While a trouble lasts, it is logged this often.
    private static let repetition: Duration = .seconds(60)

    /// This process ends.
    func leave() {
        try? queue.performNow { try EngineMember.leave(engine.owner, $0) }
        queue.close()
    }
}
