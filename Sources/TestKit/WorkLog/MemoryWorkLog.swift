package import Fleet
internal import Locking

/// Carries a member's calls to a ``MemoryEngine``.
package protocol EngineLink: Sendable {
    /// May or may not carry out `body` in the engine, and may or may not answer.
    ///
    /// - Parameter isChange: Whether a missing answer means `.unknownCommit` instead of `.unavailable`.
    func call<Result: Sendable>(
        isChange: Bool, _ body: @escaping @Sendable () throws(WorkLogError) -> Result
    ) async throws(WorkLogError) -> Result
}

/// A member's access to a ``MemoryEngine``.
package final class MemoryWorkLog<Link: EngineLink>: WorkLog {
    package let owner: String
    package let engine: MemoryEngine
    private let works: Bool
    private let link: Link
    package let clock: any FleetClock
    private let poll: Duration?
    private let endsWithMembership: Bool
    private let noteTime: @Sendable (_ time: Duration, _ sent: ContinuousClock.Instant) -> Void
    private let currentMembership = Locked<Int64?>(nil)
    private let fencedCommits = Locked(0)

    /// - Parameters:
    ///   - works: False for a member that only leads.
    ///   - clock: The member's clock.
    ///   - poll: How often a member that waits for work checks for it. Nil: only at the end of the wait.
    ///   - endsWithMembership: Whether renewals are refused once the membership has ended. Call ``join()`` first.
    ///   - noteTime: Called with the engine's time at each renewal, and when it was sent.
    package init(
        _ engine: MemoryEngine, owner: String, works: Bool = true, link: Link, clock: any FleetClock,
        poll: Duration? = nil, endsWithMembership: Bool = false,
        noteTime: @escaping @Sendable (_ time: Duration, _ sent: ContinuousClock.Instant) -> Void = { _, _ in }
    ) {
        (self.engine, self.owner, self.works, self.link, self.clock) = (engine, owner, works, link, clock)
        (self.poll, self.endsWithMembership, self.noteTime) = (poll, endsWithMembership, noteTime)
    }

    /// Begins a new membership.
    package func join() async throws(WorkLogError) {
        let sent = ContinuousClock.now
        let (number, time) = try await change { [owner, works] log, now in (log.join(owner, works: works, now), now) }
        currentMembership.withLock { $0 = number }
        noteTime(time, sent)
    }

    /// The number of the membership. Nil: none has begun.
    package var membership: Int64? { currentMembership.withLock { $0 } }

    package var partitions: Int { engine.partitions }
    package var leaseTime: Duration { engine.leaseTime }

    package func incarnation() async throws(WorkLogError) -> String { try await read { log, _ in log.incarnation } }

    package func renew() async throws(WorkLogError) -> Renewal {
        let sent = ContinuousClock.now
        let (renewal, membership, time) = try await change { [owner, works] log, now in
            let (renewal, membership) = log.renew(owner, works: works, now)
            return (renewal, membership, now)
        }
        noteTime(time, sent)
        let isNew = currentMembership.withLock { known in
            defer { known = membership }
            return known.map { $0 != membership } ?? false
        }
        guard isNew, endsWithMembership else { return renewal }
        do { try await leave() } catch {}
        throw .refused(WorkLogError.membershipIsOver)
    }

    package func claim(_ partitions: [Int], atMost limit: Int) async throws(WorkLogError) -> [Claim] {
        try await change { [owner] log, now in log.claim(partitions, atMost: limit, owner, now) }
    }

    package func refresh(_ claim: Claim) async throws(WorkLogError) -> Claim {
        try await read { [owner] log, _ throws(WorkLogError) in
            try log.check(claim, owner)
            return log.claim(claim.partition)
        }
    }

    package func release(_ lease: Lease) async throws(WorkLogError) {
        try await change { [owner] log, _ in log.release(lease, owner) }
    }

    package func leave() async throws(WorkLogError) { try await change { [owner] log, _ in log.leave(owner) } }

    package func lead() async throws(WorkLogError) -> Term? {
        try await change { [owner] log, now in log.lead(owner, now) }
    }

    package func append(
        _ entries: [FeedEntry], upTo sequence: String?, _ term: Term
    ) async throws(WorkLogError) -> Term {
        try await commit { [engine, owner] () throws(WorkLogError) in
            try engine.change { log, now throws(WorkLogError) in
                let before = log.sequence
                let term = try log.append(entries, upTo: sequence, term, owner, now)
                let first = term.n - Int64(entries.count) + 1
                return (term, .appended(entries, from: before, upTo: sequence, firstPosition: first, owner: owner))
            }
        }
    }

    package func answered() async throws(WorkLogError) -> AnsweredPosition? {
        try await change { log, _ in log.answered() }
    }

    package func hasPassed(_ n: Int64) async throws(WorkLogError) -> Bool {
        try await change { log, _ in log.hasPassed(n) }
    }

    package func pendingWork(_ readPositions: [ReadPosition], within time: Duration) async throws(WorkLogError)
        -> [PendingWork]
    {
        let end = clock.now + time
        while true {
            let found = try await read { [owner] log, now in log.pendingWork(readPositions, owner, now) }
            let left = end - clock.now
            guard found.isEmpty, left > .zero else { return found }
            do { try await clock.sleep(for: min(poll ?? left, left)) } catch { throw .unavailable("cancelled") }
        }
    }

    package func next(_ claim: Claim, after n: Int64, limit: Int) async throws(WorkLogError) -> [LoggedChange] {
        try await read { [owner] log, now throws(WorkLogError) in
            try log.next(claim, after: n, limit: limit, owner, now)
        }
    }

    package func due(_ claim: Claim, limit: Int) async throws(WorkLogError) -> [LoggedChange] {
        try await read { [owner] log, now throws(WorkLogError) in try log.due(claim, limit: limit, owner, now) }
    }

    package func commit(_ claim: Claim, _ outcome: PartitionOutcome) async throws(WorkLogError) -> Claim {
        try await commit { [engine, owner] () throws(WorkLogError) in
            try engine.change { log, now throws(WorkLogError) in
                let (claim, deleted) = try log.commit(claim, outcome, owner, now)
                return (claim, .committed(claim, outcome, deleted: deleted, owner: owner))
            }
        }
    }

    package func backlog() async throws(WorkLogError) -> Backlog {
        let fenced = fencedCommits.withLock { $0 }
        return try await read { log, now in log.backlog(fencedCommits: fenced, now) }
    }

    // MARK: Transactions

    private func read<Result: Sendable>(
        _ body: @escaping @Sendable (MemoryLog, Duration) throws(WorkLogError) -> Result
    ) async throws(WorkLogError) -> Result {
        try await link.call(isChange: false) { [engine] () throws(WorkLogError) in try engine.read(body) }
    }

    private func change<Result: Sendable>(
        _ body: @escaping @Sendable (inout MemoryLog, Duration) -> Result
    ) async throws(WorkLogError) -> Result {
        try await link.call(isChange: true) { [engine] () throws(WorkLogError) in
            try engine.change { log, now in (body(&log, now), nil) }
        }
    }

    private func commit<Result: Sendable>(
        _ body: @escaping @Sendable () throws(WorkLogError) -> Result
    ) async throws(WorkLogError) -> Result {
        do throws(WorkLogError) {
            return try await link.call(isChange: true, body)
        } catch .fenced(let reason) {
            fencedCommits.withLock { $0 += 1 }
            throw .fenced(reason)
        }
    }
}
