internal import BotState
internal import DocumentFlow
internal import Fleet
internal import FleetEngine
internal import GatewayClient
internal import Locking
internal import Logging
internal import PostgreSQL
internal import ServiceLifecycle

/// The part that one process plays in a fleet that shares its work.
///
/// The leader reads the feed, without documents, into a log. All members work on the partitions of that log that they
/// have leased. See the page "Several machines".
struct SharedWork: Sendable {
    /// A log in an engine, and this process's membership in it.
    private struct Membership {
        let engine: Engine
        let log: PostgresWorkLog
    }

    private let log: any WorkLog
    /// Nil: the log is not in an engine.
    private let membership: Membership?
    private let sharing: Sharing
    private let logger: Logger
    private let member = Locked<FleetMember?>(nil)
    private let errorLoggedAt = Locked<ContinuousClock.Instant?>(nil)

    private var engine: Engine? { membership?.engine }
    private var counters: FleetCounters? { engine?.counters }

    /// How often a persistent error is logged.
    private static let errorInterval: Duration = .seconds(60)

    /// With a log in the engine.
    init(_ engine: Engine, _ sharing: Sharing, logger: Logger) {
        self.sharing = sharing
        self.logger = logger
        let log = PostgresWorkLog(
            makeQueue: { engine.makeQueue(deadline: $0) }, owner: engine.owner, holder: StateLock.thisProcess,
            works: sharing.role != .reader, endsWithMembership: true, leaseTime: engine.lease,
            partitions: sharing.partitions, keepDeadLetters: DeadChanges.keepDeadLetters,
            noteTime: { engine.clock.note($0, sent: $1) })
        self.log = log
        membership = Membership(engine: engine, log: log)
    }

    /// With any other log, which does not track members.
    init(_ log: any WorkLog, _ sharing: Sharing, logger: Logger) {
        (self.log, self.sharing, self.logger) = (log, sharing, logger)
        membership = nil
    }

    /// Creates the tables if they are missing, and makes this process a member of the fleet.
    ///
    /// - Returns: A check for each transaction, which lets this process write only while it is a member.
    /// - Throws: ``StateError``.
    func join() async throws(StateError) -> EngineStore.Fence {
        guard let membership else { return { _ in } }
        let (engine, log) = (membership.engine, membership.log)
        do {
            let queue = engine.makeQueue()
            defer { queue.close() }
            try await queue.perform { [engine, sharing] connection in
                try EngineSafety.require(engine, connection)
                try EngineSchema.prepare(engine.schema, connection)
                do {
                    try WorkLogPartitions.prepare(sharing.partitions, leaseTime: engine.lease, connection)
                } catch WorkLogError.refused(let reason) {
                    throw StateError.engineRefused(path: engine.description, reason: reason)
                }
            }
            if case .refused(let holder) = try await log.join({ try EngineMember.renew(engine, $0) }) {
                throw StateError.locked(holder: holder)
            }
        } catch {
            throw .engine(engine, .creating, error)
        }
        let (owner, number) = (engine.owner, log.membership)
        return { [member, counters = engine.counters] connection in
            do { try PostgresWorkLog.lockMember(owner, membership: number, connection) } catch {
                // Writes of a member that has left don't count.
                if case WorkLogError.fenced = error, member.withLock({ $0 != nil }) {
                    counters.add(.fencedCommits)
                    counters.loseAllLeases()
                }
                throw error
            }
        }
    }

    /// Gives back the leases of this member, whether or not it had begun to work.
    func leave() async { try? await membership?.log.leave() }

    /// Closes the connections. Blocks for a moment.
    func close() { membership?.log.close() }

    /// Call it before any externally visible effect.
    ///
    /// - Throws: ``StateError/fenced(_:)``.
    func requireTenure() throws {
        guard member.withLock({ $0?.mayAct == true }) else {
            counters?.loseAllLeases()
            throw StateError.fenced("the leases were not renewed in time")
        }
    }

    /// Makes the worker on the log, which represents this process in the fleet from now on.
    func makeMember(
        _ feed: some LeaderFeed, _ backgroundTasks: LeaderTasks, _ processor: some Processor
    ) -> FleetMember {
        let newMember = FleetMember(
            log: log, feed: feed, task: backgroundTasks, processor: processor, role: sharing.role,
            environment: FleetEnvironment { note in self.note(note) })
        member.withLock { $0 = newMember }
        return newMember
    }

    func forgetMember() {
        member.withLock { $0 = nil }
        counters?.endSharing()
    }

    /// The sequence up to which all changes are answered; nil if the log does not tell.
    ///
    /// Call it last: it shortens the time limit of all further calls to the engine.
    func lastAnswered() async -> SequenceID? {
        engine?.limitRemainingCalls()
        guard let answered = try? await log.answered()?.sequence else { return nil }
        return SequenceID(answered)
    }

    /// Turns errors of the log into state errors.
    func translatingErrors(_ body: () async throws -> Void) async throws {
        do { try await body() } catch let error as WorkLogError {
            guard let engine else { throw error }
            throw StateError(engine, error)
        }
    }

    private func note(_ note: FleetNote) {
        counters?.note(note)
        switch note {
        case .gained(.feed, _): logger.info("reading the feed for the fleet")
        case .lost(.feed), .fenced(.feed): logger.notice("another member reads the feed now")
        case .backlogFull(let count):
            logger.notice(
                "feed paused: too many changes wait in the log", metadata: ["changes": "\(count)"])
        case .unavailable where Task.isCancelled: break
        case .unavailable(let reason, _):
            let isDue = errorLoggedAt.withLock { loggedAt in
                if let last = loggedAt, last.duration(to: .now) < Self.errorInterval { return false }
                loggedAt = .now
                return true
            }
            if isDue {
                logger.warning("the gateway or the engine failed; trying again", metadata: [LogKey.reason: "\(reason)"])
            }
        default: logger.debug("\(note)")
        }
    }
}

extension FleetEnvironment {
    fileprivate init(note: @escaping @Sendable (FleetNote) -> Void) {
        self.init(clock: SystemFleetClock(), note: note)
    }
}
