internal import DocumentFlow
internal import Logging
internal import PostgreSQL

/// A member of a fleet that waits until it may run.
///
/// It asks the engine only; the gateway hears nothing of it.
final class Standby: Sendable {
    private let engine: Engine
    private let ruleSetHash: String
    /// Whether it waits to share the work with others.
    private let shares: Bool
    private let report: RunReport
    private let observer: (any RunObserver)?
    private let logger: Logger
    private let queue: PostgresQueue

    init(
        _ engine: Engine, ruleSetHash: String, shares: Bool, report: RunReport, observer: (any RunObserver)?,
        logger: Logger
    ) {
        self.observer = observer
        self.shares = shares
        self.engine = engine
        self.ruleSetHash = ruleSetHash
        self.report = report
        self.logger = logger
        queue = engine.makeQueue()
    }

    /// How often it asks.
    private var interval: Duration { min(.milliseconds(500), engine.lease / 10) }

    /// Returns when nobody runs, as far as the engine knows; waits while the engine can't be reached.
    ///
    /// - Throws: ``StateError`` if a retry is of no use; `CancellationError`.
    func untilFree() async throws {
        if engine.address.isUnverified {
            logger.warning(
                "the engine's certificate is not verified: leave sslmode out of its address",
                metadata: [LogKey.fleet: "\(engine.fleet)"])
        }
        var told: String?
        func tell(_ news: String, _ log: () -> Void) {
            if told != news { log() }
            told = news
        }
        while true {
            do {
                guard let holder = try await runner() else { return await report.noteStandingBy(false) }
                await report.noteStandingBy(true)
                tell(holder) {
                    observer?.note(.progressed)
                    logger.notice(
                        "standing by: another member of the fleet runs",
                        metadata: [LogKey.fleet: "\(engine.fleet)", LogKey.holder: "\(holder)"])
                }
                try await Task.sleep(for: interval)
            } catch let error as StateError {
                guard case .engineUnavailable(let reason) = error else { throw error }
                await report.noteStandingBy(true)
                tell("") {
                    observer?.note(.progressed)
                    logger.warning("the engine is out of reach; trying again", metadata: [LogKey.reason: "\(reason)"])
                }
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    /// Who runs; nil if nobody does. Tells the others that this member is there.
    private func runner() async throws -> String? {
        do {
            return try await queue.perform { [engine, ruleSetHash, shares] connection in
                guard try EngineSchema.check(engine, connection) else { return nil }
                try EngineMember.renew(engine, ruleSetHash: ruleSetHash, connection)
                let found = try connection.run(
                    """
                    SELECT CASE WHEN owner = '' THEN 'nobody yet: the last one was asked to stop' ELSE holder END
                    FROM lease WHERE name = $1 AND owner <> $2 AND until > clock_timestamp()
                    """, [.text(EngineLease.name), .text(engine.owner)])
                if let holder = found.rows.first?.first?.text { return holder }
                return try shares ? nil : EngineMember.sharing(connection)
            }
        } catch {
            throw StateError.engine(engine, .reading, error)
        }
    }

    /// This member's turn is over.
    func note(_ error: StateError) async throws {
        if case .locked = error { return }
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
