internal import BotState
internal import DocumentFlow
internal import Fleet
internal import FleetEngine
internal import Locking
internal import Logging
internal import PostgreSQL

/// A member of a fleet that waits until it may be active.
///
/// It only asks the engine; it sends no requests to the gateway.
final class Standby: Sendable {
    let engine: Engine
    let ruleSetHash: String
    /// How it shares the work with other members. Nil: it does not.
    let sharing: Sharing?
    private let report: RunReport
    private let observer: (any RunObserver)?
    let logger: Logger
    let queue: PostgresQueue
    /// How long it waits for tables that vanished.
    private let lossDelay: Duration
    private let state = Locked(State())

    private struct State {
        /// Whether this process was active or on standby before. Its configuration is then known to be right, and the
        /// process does not end when the engine is reconfigured.
        var isEstablished = false
        /// When the tables were first missing.
        var lostAt: ContinuousClock.Instant?
        var lastActiveAt: ContinuousClock.Instant?
        var lastLogged: (reason: String, at: ContinuousClock.Instant)?
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

    /// How often it asks the engine.
    private var interval: Duration { min(.milliseconds(500), engine.lease / 10) }

    /// Returns when the engine knows no active member and this member is not drained.
    ///
    /// Waits while the engine is unavailable. Once ``isEstablished``, it also waits while the engine refuses this
    /// process, and for `lossDelay` if the tables are gone.
    ///
    /// - Throws: ``StateError`` if a retry can't help; `CancellationError`.
    func waitUntilAvailable() async throws {
        try await withTaskCancellationHandler {
            try await waitUntilFree()
        } onCancel: {
            engine.limitRemainingCalls()
        }
    }

    private func waitUntilFree() async throws {
        var log = StandbyLog(engine, lossDelay: lossDelay, observer: observer, logger: logger)
        log.warnOfUnverifiedEngine()
        while true {
            do {
                guard try await mustWait(&log) else { return await report.noteStandby(false) }
                await report.noteStandby(true, isDrained: log.isDrained)
                try await Task.sleep(for: interval)
            } catch let error as StateError {
                guard await canRetry(after: error) else { throw error }
                await report.noteStandby(true, isDrained: log.isDrained)
                log.log(error)
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Asks the engine once.
    private func mustWait(_ log: inout StandbyLog) async throws -> Bool {
        let fleetState = try await fleetState()
        log.note(isDrained: fleetState == .drained)
        switch fleetState {
        case .free:
            log.logTakeover()
            return false
        case .missing:
            guard await mustWaitForTables else { return false }
        case .drained, .runs: state.withLock { $0.isEstablished = true }
        }
        log.log(fleetState)
        return true
    }

    /// What, if anything, keeps this member from being active.
    enum FleetState: Equatable {
        /// Nothing does.
        case free
        /// The tables are missing.
        case missing
        /// This member was drained.
        case drained
        /// This process is active.
        case runs(String)
    }

    /// Whether the tables may still reappear.
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

    /// Whether this process was active or on standby before.
    var isEstablished: Bool {
        get async {
            let hasRun = await report.hasDelivered
            return state.withLock { state in
                state.isEstablished = state.isEstablished || hasRun
                return state.isEstablished
            }
        }
    }

    /// Whether this process retries after an engine error.
    func canRetry(after error: StateError) async -> Bool {
        switch error {
        case .locked, .fenced, .engineUnavailable: true
        case .engineRefused: await isEstablished
        // An error of the state folder is not the engine's.
        case .cannotCreate(let path, _): path == engine.description ? await isEstablished : false
        default: false
        }
    }

    /// This process's role in the fleet, for `changebot fleet status`.
    var role: String { sharing?.role.rawValue ?? "run" }

    /// Renews this member's entry in the engine, and asks which process is active.
    private func fleetState() async throws -> FleetState {
        do {
            return try await queue.perform { [engine, ruleSetHash, role, shares = sharing != nil] connection in
                guard try EngineSchema.exists(engine.schema, connection) else { return .missing }
                try EngineMember.renew(engine, ruleSetHash: ruleSetHash, role: role, connection)
                try engine.counters.store(connection)
                if try EngineMember.isDrained(engine, connection) { return .drained }
                return try PostgresWorkLog.holder(otherThan: engine.owner, shares: shares, connection)
                    .map { .runs($0) } ?? .free
            }
        } catch let error as PostgresError where error.sqlState == EngineSchema.undefinedTable {
            // Removed after the check.
            return .missing
        } catch {
            throw StateError.engine(engine, .reading, error)
        }
    }

    /// Notes the error that ended this member's turn. If the previous turn ended just before, waits a second, because
    /// the cause may persist.
    func note(_ error: StateError) async throws {
        if case .locked = error { return }
        if sharing == nil, case .fenced = error { engine.counters.add(.leaseLosses) }
        let (mustLog, mustWait) = state.withLock { state in
            let now = ContinuousClock.now
            let reason = "\(error)"
            let isKnown =
                state.lastLogged.map { $0.reason == reason && $0.at.duration(to: now) < Self.repeatedLogInterval }
                ?? false
            let isRepeated = state.lastActiveAt.map { $0.duration(to: now) < Self.minActiveTime } ?? false
            if !isKnown { state.lastLogged = (reason, now) }
            (state.lastActiveAt, state.lostAt) = (now, nil)
            return (!isKnown, isRepeated)
        }
        if mustLog { logger.warning("stopped acting for the fleet", metadata: [LogKey.reason: "\(error)"]) }
        await report.reconnect()
        if mustWait { try await Task.sleep(for: .seconds(1)) }
    }

    private static let minActiveTime: Duration = .seconds(5)
    /// How often a persistent error is logged.
    private static let repeatedLogInterval: Duration = .seconds(60)

    /// Leaves the fleet as the process ends.
    func leave() {
        try? queue.performNow { try EngineMember.leave(engine.owner, $0) }
        queue.close()
    }
}
