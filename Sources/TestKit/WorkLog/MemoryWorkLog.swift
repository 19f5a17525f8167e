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
    private let fencedCommits = Locked(0)

    /// - Parameters:
    ///   - works: False for a member that only leads.
    ///   - clock: The member's clock.
    ///   - poll: How often a member that waits for work checks for it. Nil: only at the end of the wait.
    package init(
        _ engine: MemoryEngine, owner: String, works: Bool = true, link: Link, clock: any FleetClock,
        poll: Duration? = nil
    ) {
        (self.engine, self.owner, self.works, self.link, self.clock) = (engine, owner, works, link, clock)
        self.poll = poll
    }

    package var partitions: Int { engine.partitions }
    package var leaseTime: Duration { engine.leaseTime }

    package func incarnation() async throws(WorkLogError) -> String { try await read { log, _ in log.incarnation } }

    package func renew() async throws(WorkLogError) -> Renewal {
        try await change { [owner, works] log, now in log.renew(owner, works: works, now) }
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
