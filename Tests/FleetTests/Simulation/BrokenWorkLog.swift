import Fleet
import Locking
import TestKit

/// A log with a defect that the simulation must detect.
final class BrokenWorkLog: WorkLog {
    enum Mistake: CaseIterable {
        /// A fenced commit is carried out in the name of the new owner.
        case noFence
        /// A commit moves the position one change too far.
        case positionTooFar
        /// The checkpoint is stored before the changes, in a separate commit.
        case checkpointFirst
        /// Changes are stored without the last one.
        case entryLost
        /// If the engine does not answer a renewal, the previous answer is used.
        case renewalFromMemory
        /// Parked changes are forgotten.
        case parkingLost
        /// A recheck replaces a waiting change.
        case recheckReplacesChange
        /// Changes of parked documents are forgotten.
        case joinLost
    }

    private let log: MemoryWorkLog<SimulatedLink>
    private let engine: MemoryEngine
    private let mistake: Mistake
    private let lastRenewal = Locked<Renewal?>(nil)

    init(_ log: MemoryWorkLog<SimulatedLink>, _ engine: MemoryEngine, _ mistake: Mistake) {
        (self.log, self.engine, self.mistake) = (log, engine, mistake)
    }

    // MARK: With mistakes

    func renew() async throws(WorkLogError) -> Renewal {
        do throws(WorkLogError) {
            let renewal = try await log.renew()
            lastRenewal.withLock { $0 = renewal }
            return renewal
        } catch {
            guard mistake == .renewalFromMemory, let renewal = lastRenewal.withLock({ $0 }) else { throw error }
            return renewal
        }
    }

    func append(
        _ entries: [FeedEntry], upTo sequence: String?, _ term: Term
    ) async throws(WorkLogError) -> Term {
        switch mistake {
        case .checkpointFirst:
            let term = try await log.append([], upTo: sequence, term)
            return try await log.append(entries, upTo: sequence, term)
        case .entryLost: return try await log.append(entries.dropLast(), upTo: sequence, term)
        default: return try await log.append(entries, upTo: sequence, term)
        }
    }

    func commit(_ claim: Claim, _ outcome: PartitionOutcome) async throws(WorkLogError) -> Claim {
        var outcome = outcome
        switch mistake {
        case .positionTooFar:
            if let next = try await log.next(claim, after: outcome.position, limit: 1).first {
                outcome.position = next.n
            }
        case .parkingLost: outcome.parked = []
        case .joinLost: outcome.joined = []
        default: break
        }
        do throws(WorkLogError) {
            return try await log.commit(claim, outcome)
        } catch .fenced(let reason) {
            guard mistake == .noFence, let (owner, theirs) = engine.holder(of: claim.partition),
                theirs.position <= outcome.position
            else { throw .fenced(reason) }
            let other = MemoryWorkLog(engine, owner: owner, link: MemoryLink(clock: log.clock), clock: log.clock)
            let stored = try await other.commit(theirs, outcome)
            return Claim(
                lease: claim.lease, partition: claim.partition, position: stored.position, version: claim.version,
                takeovers: 0)
        }
    }

    // MARK: Without

    var owner: String { log.owner }
    var partitions: Int { log.partitions }
    var leaseTime: Duration { log.leaseTime }
    func incarnation() async throws(WorkLogError) -> String { try await log.incarnation() }
    func claim(_ partitions: [Int], atMost limit: Int) async throws(WorkLogError) -> [Claim] {
        try await log.claim(partitions, atMost: limit)
    }
    func refresh(_ claim: Claim) async throws(WorkLogError) -> Claim { try await log.refresh(claim) }
    func release(_ lease: Lease) async throws(WorkLogError) { try await log.release(lease) }
    func leave() async throws(WorkLogError) { try await log.leave() }
    func lead() async throws(WorkLogError) -> Term? { try await log.lead() }
    func answered() async throws(WorkLogError) -> AnsweredPosition? { try await log.answered() }
    func hasPassed(_ n: Int64) async throws(WorkLogError) -> Bool { try await log.hasPassed(n) }
    func backlog() async throws(WorkLogError) -> Backlog { try await log.backlog() }
    func due(_ claim: Claim, limit: Int) async throws(WorkLogError) -> [LoggedChange] {
        try await log.due(claim, limit: limit)
    }
    func next(_ claim: Claim, after n: Int64, limit: Int) async throws(WorkLogError) -> [LoggedChange] {
        let changes = try await log.next(claim, after: n, limit: limit)
        guard mistake == .recheckReplacesChange else { return changes }
        return changes.map { change in
            guard let look = changes.last(where: { $0.id == change.id }), !look.entry.kind.isFromFeed else {
                return change
            }
            var change = change
            change.entry = look.entry
            return change
        }
    }
    func pendingWork(_ readPositions: [ReadPosition], within time: Duration) async throws(WorkLogError) -> [PendingWork]
    {
        try await log.pendingWork(readPositions, within: time)
    }
}
