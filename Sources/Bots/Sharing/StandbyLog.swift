internal import BotState
internal import DocumentFlow
internal import FleetEngine
internal import Logging
internal import PostgreSQL

/// Logs what a member on standby learns from the engine, without repeating itself.
struct StandbyLog {
    private let engine: Engine
    private let lossDelay: Duration
    private let observer: (any RunObserver)?
    private let logger: Logger
    private var lastLogged: String?
    /// The process that was last active.
    private var predecessor: String?
    private(set) var isDrained = false

    init(_ engine: Engine, lossDelay: Duration, observer: (any RunObserver)?, logger: Logger) {
        (self.engine, self.lossDelay, self.observer, self.logger) = (engine, lossDelay, observer, logger)
    }

    private var fleet: Logger.MetadataValue { "\(engine.fleet)" }

    func warnOfUnverifiedEngine() {
        guard engine.address.isUnverified else { return }
        logger.warning(
            "the engine's certificate is not verified: leave sslmode out of its address",
            metadata: [LogKey.fleet: fleet])
    }

    mutating func note(isDrained: Bool) {
        if self.isDrained, !isDrained { logger.notice("no longer drained", metadata: [LogKey.fleet: fleet]) }
        self.isDrained = isDrained
    }

    func logTakeover() {
        guard let predecessor else { return }
        logger.notice(
            "taking over from another member of the fleet",
            metadata: [LogKey.fleet: fleet, LogKey.predecessor: "\(predecessor)"])
    }

    mutating func log(_ fleetState: Standby.FleetState) {
        switch fleetState {
        case .free: break
        case .missing:
            guard isNew("missing") else { return }
            logger.warning(
                "the engine lost the state of the fleet; will recreate it unless it reappears",
                metadata: [LogKey.fleet: fleet, LogKey.wait: "\(lossDelay)"])
        case .drained:
            guard isNew("drained") else { return }
            logger.notice(
                "drained: this member takes no work until 'changebot fleet drain --undo'",
                metadata: [LogKey.fleet: fleet, LogKey.member: "\(engine.memberID)"])
        case .runs(let holder):
            predecessor = holder
            guard isNew(holder) else { return }
            logger.log(
                level: logger.stepLevel, "on standby: another member is active",
                metadata: [LogKey.fleet: fleet, LogKey.holder: "\(holder)"])
        }
    }

    mutating func log(_ error: StateError) {
        if case .engineUnavailable(let reason) = error {
            guard isNew("") else { return }
            logger.warning("the engine is unavailable; trying again", metadata: [LogKey.reason: "\(reason)"])
        } else {
            guard isNew("\(error)") else { return }
            logger.warning("the engine refuses this process; trying again", metadata: [LogKey.reason: "\(error)"])
        }
    }

    private mutating func isNew(_ log: String) -> Bool {
        guard lastLogged != log else { return false }
        lastLogged = log
        observer?.note(.progressed)
        return true
    }
}
