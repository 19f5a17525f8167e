internal import DocumentFlow
internal import Fleet
internal import FleetEngine
internal import GatewayClient
internal import Locking
internal import Logging
internal import PostgreSQL
internal import ServiceLifecycle

/// The part of one process in a fleet that shares its work.
///
/// One process reads the feed, without documents, into a log in the engine; all work on partitions of that log that they
/// have leased. See the page "Several machines".
struct SharedWork: Sendable {
    private let engine: Engine
    private let sharing: Sharing
    private let logger: Logger
    private let log: PostgresWorkLog
    private let member = Locked<FleetMember?>(nil)
    private let troubleShownAt = Locked<ContinuousClock.Instant?>(nil)

    /// While a trouble lasts, it is logged this often.
    private static let troubleInterval: Duration = .seconds(60)

    init(_ engine: Engine, _ sharing: Sharing, logger: Logger) {
        self.engine = engine
        self.sharing = sharing
        self.logger = logger
        log = PostgresWorkLog(
            makeQueue: { engine.makeQueue(deadline: $0) }, owner: engine.owner, holder: StateLock.thisProcess,
            works: sharing.role != .reader, keepsDeadLetters: true, endsWithMembership: true, leaseTime: engine.lease,
            partitions: sharing.partitions)
    }

    /// Makes the log if there is none, and becomes a member of the fleet.
    ///
    /// - Returns: What lets this process write, in each transaction, as long as it is one.
    /// - Throws: ``StateError``.
    func join() async throws(StateError) -> EngineStore.Fence {
        do {
            try await log.prepare()
            let queue = engine.makeQueue()
            defer { queue.close() }
            try await queue.perform { [engine, sharing] connection in
                try EngineMember.beginSharing(engine, works: sharing.role != .reader, connection)
            }
            log.beginMembership()
            _ = try await log.renew()
        } catch {
            throw .engine(engine, .writing, error)
        }
        let (owner, membership) = (engine.owner, log.membership)
        return { [member, tally = engine.tally] connection in
            do { try PostgresWorkLog.lockMember(owner, membership: membership, connection) } catch {
                // Not those of a member that has left.
                if case WorkLogError.fenced = error, member.withLock({ $0 != nil }) { tally.add(.fencedCommits) }
                throw error
            }
        }
    }

    /// Gives back what is left, whether the work had begun or not.
    func leave() async { try? await log.leave() }

    /// Closes the connections. Blocks for a moment.
    func close() { log.close() }

    /// Asked before anything is done that others would notice.
    ///
    /// - Throws: ``StateError/fenced(_:)``.
    func requireTenure() throws {
        guard member.withLock({ $0?.mayAct == true }) else {
            throw StateError.fenced("the leases were not renewed in time")
        }
    }

    /// Works until a graceful shutdown begins, then finishes what it has begun.
    ///
    /// - Parameter start: Where a log without any change begins.
    /// - Throws: ``StateError``, `CancellationError`.
    func run(_ gateway: Gateway, channels: [String]?, from start: SequenceID, into delivery: Delivery) async throws {
        let feed = GatewayFeed(
            gateway: gateway, channels: channels, start: start,
            noteStanding: { await delivery.noteStanding(isCaughtUp: $0) },
            save: { try await delivery.ledger.saveCheckpoint($0) })
        let member = FleetMember(
            log: log, feed: feed, processor: ChangeProcessor(delivery: delivery), role: sharing.role,
            environment: FleetEnvironment { note in log(note) })
        self.member.withLock { $0 = member }
        defer {
            self.member.withLock { $0 = nil }
            engine.tally.endSharing()
        }
        await delivery.noteStanding(isCaughtUp: true)
        member.setBeforeLeaving { [log] in
            // Otherwise the checkpoint would be as old as the last answer of the feed.
            guard let answered = try? await log.answered(), let sequence = SequenceID(answered) else { return }
            try? await delivery.ledger.saveCheckpoint(sequence)
        }
        do {
            try await withGracefulShutdownHandler {
                try await member.run()
            } onGracefulShutdown: {
                member.stop()
            }
        } catch let error as WorkLogError {
            throw StateError(engine, error)
        }
    }

    private func log(_ note: FleetNote) {
        engine.tally.note(note)
        switch note {
        case .gained(.feed, _): logger.info("reading the feed for the fleet")
        case .lost(.feed), .fenced(.feed): logger.notice("another member reads the feed now")
        case .backlogFull(let count):
            logger.notice(
                "not reading on: too many changes wait in the log", metadata: ["changes": "\(count)"])
        case .unavailable where Task.isCancelled: break
        case .unavailable(let reason, _):
            let isShown = troubleShownAt.withLock { shownAt in
                if let shown = shownAt, shown.duration(to: .now) < Self.troubleInterval { return false }
                shownAt = .now
                return true
            }
            if isShown {
                logger.warning("the gateway or the engine failed; trying again", metadata: [LogKey.reason: "\(reason)"])
            }
        default: logger.debug("\(note)")
        }
    }
}

extension StateError {
    init(_ engine: Engine, _ error: WorkLogError) {
        self =
            switch error {
            case .fenced(let reason): .fenced(reason)
            case .refused(PostgresWorkLog.membershipIsOver): .fenced(PostgresWorkLog.membershipIsOver)
            case .unavailable(let reason), .unknownCommit(let reason):
                .engineUnavailable("\(engine.description): \(reason)")
            case .refused(let reason): .unreadable(path: engine.description, reason: reason)
            }
    }
}

extension FleetEnvironment {
    fileprivate init(note: @escaping @Sendable (FleetNote) -> Void) {
        self.init(clock: SystemFleetClock(), note: note)
    }
}
