internal import DocumentFlow
internal import Fleet
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

    init(
        _ engine: Engine, ruleSetHash: String, sharing: Sharing?, report: RunReport, observer: (any RunObserver)?,
        logger: Logger
    ) {
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

    /// What hinders a member.
    private enum Obstacle: Equatable {
        case runner(String)
        /// This member was drained.
        case drained
    }

    /// Returns when nobody runs, as far as the engine knows, and this member is not drained; waits while the engine
    /// can't be reached.
    ///
    /// - Throws: ``StateError`` if a retry is of no use; `CancellationError`.
    func untilFree() async throws {
        if engine.address.isUnverified {
            logger.warning(
                "the engine's certificate is not verified: leave sslmode out of its address",
                metadata: [LogKey.fleet: "\(engine.fleet)"])
        }
        var isDrained = false
        var told: String?
        func tell(_ news: String, _ log: () -> Void) {
            if told != news { log() }
            told = news
        }
        while true {
            do {
                let obstacle = try await obstacle()
                if isDrained, obstacle != .drained {
                    logger.notice("no longer drained", metadata: [LogKey.fleet: "\(engine.fleet)"])
                }
                isDrained = obstacle == .drained
                guard let obstacle else { return await report.noteStandingBy(false) }
                await report.noteStandingBy(true, isDrained: isDrained)
                switch obstacle {
                case .runner(let holder):
                    tell(holder) {
                        observer?.note(.progressed)
                        logger.notice(
                            "standing by: another member of the fleet runs",
                            metadata: [LogKey.fleet: "\(engine.fleet)", LogKey.holder: "\(holder)"])
                    }
                case .drained:
                    tell("drained") {
                        observer?.note(.progressed)
                        logger.notice(
                            "drained: this member takes no work until 'changebot fleet drain --undo'",
                            metadata: [LogKey.fleet: "\(engine.fleet)", LogKey.member: "\(engine.memberID)"])
                    }
                }
                try await Task.sleep(for: interval)
            } catch let error as StateError {
                guard case .engineUnavailable(let reason) = error else { throw error }
                await report.noteStandingBy(true, isDrained: isDrained)
                tell("") {
                    observer?.note(.progressed)
                    logger.warning("the engine is out of reach; trying again", metadata: [LogKey.reason: "\(reason)"])
                }
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// What it does in the fleet, for those who ask.
    var role: String { sharing?.role.rawValue ?? "run" }

    /// Why this member may not act; nil if it may. Tells the others that it is there.
    private func obstacle() async throws -> Obstacle? {
        do {
            return try await queue.perform { [engine, ruleSetHash, role, shares = sharing != nil] connection in
                guard try EngineSchema.upgrade(engine, connection) else { return nil }
                try EngineMember.renew(engine, ruleSetHash: ruleSetHash, role: role, connection)
                try engine.tally.store(connection)
                if try EngineMember.isDrained(engine, connection) { return .drained }
                let found = try connection.run(
                    """
                    SELECT CASE WHEN owner = '' THEN 'nobody yet: the last one was asked to stop' ELSE holder END
                    FROM lease WHERE name = $1 AND owner <> $2 AND until > clock_timestamp()
                    """, [.text(EngineLease.name), .text(engine.owner)])
                if let holder = found.rows.first?.first?.text { return .runner(holder) }
                return try shares ? nil : EngineMember.sharing(connection).map { .runner($0) }
            }
        } catch {
            throw StateError.engine(engine, .reading, error)
        }
    }

    /// This member's turn is over.
    func note(_ error: StateError) async throws {
        if case .locked = error { return }
        if sharing == nil, case .fenced = error { engine.tally.add(.leaseLosses) }
        logger.warning("stopped acting for the fleet", metadata: [LogKey.reason: "\(error)"])
        await report.reconnect()
    }

    /// This process ends.
    func leave() {
        try? queue.performNow { try EngineMember.leave(engine.owner, $0) }
        queue.close()
    }
}

extension StateError {
    /// Whether a member of a fleet stands by after it, instead of ending.
    var endsTurn: Bool {
        switch self {
        case .locked, .fenced, .engineUnavailable: true
        default: false
        }
    }
}
