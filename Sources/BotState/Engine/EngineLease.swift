internal import Fleet
internal import FleetEngine
internal import Locking
internal import PostgreSQL

/// The lease under which this process alone works for the fleet, until it releases the lease, is silent for too long,
/// or the lease is taken away.
///
/// It is the lease of the feed, held directly: meanwhile no other process leads or shares the work.
/// ``Engine/renewingLease(_:)`` renews it.
package final class EngineLease: Sendable {
    private let engine: Engine
    private let log: PostgresWorkLog
    private let renewer: LeaseRenewer
    private let clock: SystemFleetClock
    private let tenure: Tenure
    /// Raised when the tenure is prolonged or revoked.
    private let changed = Signal()
    private let renewalFailure: Locked<RenewalFailure>
    /// Why the lease is over. Nil: this process does not know of its end.
    private let end = Monitor<String?>(nil)

    private init(
        _ engine: Engine, _ log: PostgresWorkLog, _ lease: Lease, sent: Duration, _ clock: SystemFleetClock,
        _ renewalFailure: Locked<RenewalFailure>
    ) {
        let environment = FleetEnvironment(
            clock: clock,
            note: { note in
                if case .unavailable(let reason, _) = note { renewalFailure.withLock { $0.noteFailure(reason) } }
            })
        (self.engine, self.log, self.clock, self.renewalFailure) = (engine, log, clock, renewalFailure)
        renewer = LeaseRenewer(log: log, settings: FleetSettings(), environment: environment)
        tenure = renewer.grant(lease, sentAt: sent, changed: changed)
    }

    /// Takes the lease if it is free. Blocks.
    ///
    /// - Throws: ``StateError``: `.locked` if another member has it, `.engineUnavailable`.
    static func take(_ engine: Engine, ruleSetHash: String) throws(StateError) -> EngineLease {
        let renewalFailure = Locked(RenewalFailure())
        let log = PostgresWorkLog(
            makeQueue: { engine.makeQueue(deadline: $0) }, owner: engine.owner, holder: StateLock.thisProcess,
            isDirect: true, endsWithMembership: true, leaseTime: engine.lease,
            noteTime: { time, sent in
                engine.clock.note(time, sent: sent)
                renewalFailure.withLock { $0.noteSuccess() }
            })
        do {
            let clock = SystemFleetClock()
            let sent = clock.now
            let entry = try log.leadDirectly { try EngineMember.renew(engine, ruleSetHash: ruleSetHash, $0) }
            switch entry {
            case .refused(let holder): throw StateError.locked(holder: holder)
            case .granted(let granted):
                let lease = EngineLease(engine, log, granted, sent: sent, clock, renewalFailure)
                engine.renewals.begin(lease)
                return lease
            }
        } catch {
            log.close()
            let isRemoved = (error as? PostgresError)?.sqlState == EngineSchema.undefinedTable
            throw isRemoved ? EngineMember.removed(engine) : StateError.engine(engine, .writing, error)
        }
    }

    /// Releases the lease, so that another member need not wait. Blocks for a moment.
    func release() {
        defer { log.close() }
        guard lose("the lease was released") else { return }
        try? log.leaveNow { [engine] connection in
            // A drained member goes on standby, and remains a member.
            if try EngineMember.isDrained(engine, connection) {
                try EngineMember.renew(engine, connection)
            } else {
                try EngineMember.leave(engine.owner, connection)
            }
        }
    }

    /// Prevents others from taking the lease over until the transaction ends.
    ///
    /// - Throws: ``StateError/fenced(_:)`` if another member has taken it; `PostgresError`.
    @Sendable func lock(_ connection: PostgresConnection) throws {
        do {
            try PostgresWorkLog.lockMember(engine.owner, membership: log.membership, connection)
        } catch let error as WorkLogError {
            guard case .fenced = error else { throw error }
            lose(RenewalFailure.takenOver)
            engine.counters.add(.fencedCommits)
            throw StateError.fenced(RenewalFailure.takenOver)
        }
    }

    // MARK: - Tenure

    /// Ends the lease for good.
    ///
    /// - Returns: False if it was over already.
    @discardableResult private func lose(_ reason: String) -> Bool {
        defer { renewer.drop(tenure) }
        return end.with { end in
            guard end == nil else { return false }
            end = reason
            return true
        }
    }

    /// Call this before each effect that other members could notice.
    ///
    /// - Throws: ``StateError/fenced(_:)``.
    package func requireTenure() throws(StateError) {
        if let reason = end.quietly({ $0 }) { throw .fenced(reason) }
        guard tenure.isValid else { throw .fenced("the lease was not renewed in time") }
    }

    /// Returns when it is over.
    ///
    /// - Throws: ``StateError/fenced(_:)``, or `CancellationError`.
    package func waitUntilOver() async throws {
        await end.wait { $0 != nil }
        try Task.checkCancellation()
        try requireTenure()
    }

    // MARK: - Renewing

    /// Renews it until it is over, or until the task is cancelled.
    func keep() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.renew() }
            group.addTask { await self.noteEnd() }
            group.addTask { await self.end.wait { $0 != nil } }
            await group.next()
            group.cancelAll()
        }
    }

    private func renew() async {
        do { try await renewer.run() } catch {
            if error is WorkLogError { lose(RenewalFailure.takenOver) }
        }
    }

    /// Returns when the tenure was revoked, or when other members may take the lease.
    private func noteEnd() async {
        while !tenure.isRevoked, clock.now < takeoverTime {
            do { try await clock.wait(for: changed, until: takeoverTime) } catch { return }
        }
        lose(renewalFailure.withLock { $0 }.end(isRevoked: tenure.isRevoked, engine.description))
    }

    /// When other members may take the lease, unless it is renewed.
    private var takeoverTime: Duration { tenure.deadline + FleetSettings().margin }
}

/// Renews the lease that a process currently holds, concurrently with its work.
final class LeaseRenewals: Sendable {
    private let lease = Locked<EngineLease?>(nil)
    private let taken = Signal()

    /// Starts renewing a new lease. The previous one is over.
    func begin(_ lease: EngineLease) {
        self.lease.withLock { $0 = lease }
        taken.raise()
    }

    /// Renews until the task is cancelled.
    fileprivate func run() async {
        while (try? await taken.wait()) != nil { await lease.withLock(\.self)?.keep() }
    }
}

extension Engine {
    /// Calls `body`, and meanwhile renews the lease that it takes or that was taken before.
    package func renewingLease<Value>(_ body: () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await renewals.run() }
            defer { group.cancelAll() }
            return try await body()
        }
    }
}

extension Duration {
    var wholeMilliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}
