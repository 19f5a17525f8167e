package import Fleet
internal import Locking

/// An in-memory log that several members share, for tests: the rules of the PostgreSQL log, with its own clock.
package final class MemoryEngine: Sendable {
    /// A commit, reported before it becomes visible.
    package enum Commit: Sendable {
        case appended([FeedEntry], from: String?, upTo: String?, firstPosition: Int64, owner: String)
        /// The changes are those that are deleted from the log, with a flag that the parked change replaces them.
        case committed(Claim, PartitionOutcome, deleted: [LoggedChange], owner: String)
    }

    private struct State {
        var log: MemoryLog
        /// Older states, the newest one last.
        var history: [MemoryLog] = []
        var incarnations = 1
    }

    package let partitions: Int
    package let leaseTime: Duration
    private let keeps: Int
    private let quietTime: Duration
    private let time: @Sendable () -> Duration
    private let observer: (@Sendable (Commit) -> Void)?
    private let state: Locked<State>

    /// - Parameters:
    ///   - history: The maximum number of commits that can be lost, see ``loseTail(commits:)``. Each one costs a copy
    ///     of the log.
    ///   - quietTime: How long no leases are granted after a loss. Nil: for the duration of a lease; less is incorrect.
    ///   - time: The engine's clock.
    ///   - observer: Receives commits, under the engine's lock.
    package init(
        partitions: Int = Partitioning.defaultPartitions, leaseTime: Duration = .seconds(5), history: Int = 0,
        quietTime: Duration? = nil,
        time: @escaping @Sendable () -> Duration, observer: (@Sendable (Commit) -> Void)? = nil
    ) {
        (self.partitions, self.leaseTime, self.time, self.observer) = (partitions, leaseTime, time, observer)
        keeps = history
        self.quietTime = quietTime ?? leaseTime
        state = Locked(State(log: MemoryLog(partitions: partitions, leaseTime: leaseTime)))
    }

    /// Carries out one transaction. If it throws, nothing was changed.
    func change<Result>(
        _ body: (inout MemoryLog, Duration) throws(WorkLogError) -> (Result, Commit?)
    ) throws(WorkLogError) -> Result {
        try state.withLock { state throws(WorkLogError) in
            if keeps > 0 {
                state.history.append(state.log)
                if state.history.count > keeps { state.history.removeFirst() }
            }
            let (result, commit) = try body(&state.log, time())
            if let commit { observer?(commit) }
            return result
        }
    }

    /// Reads the log.
    func read<Result>(
        _ body: (MemoryLog, Duration) throws(WorkLogError) -> Result
    ) throws(WorkLogError) -> Result {
        try state.withLock { state throws(WorkLogError) in try body(state.log, time()) }
    }

    // MARK: Faults

    /// Loses the last commits, as when an asynchronous standby is promoted. Changes the incarnation.
    package func loseTail(commits: Int) {
        state.withLock { state in
            let count = min(commits, state.history.count)
            guard count > 0 else { return renew(&state, with: state.log, time()) }
            let log = state.history[state.history.count - count]
            state.history.removeLast(count)
            renew(&state, with: log, time())
        }
    }

    /// The current state, for ``restore(_:)``.
    package var snapshot: Snapshot { Snapshot(log: state.withLock(\.log)) }

    /// A state that can be restored.
    package struct Snapshot: Sendable { fileprivate let log: MemoryLog }

    /// Restores a state: all later commits are lost. Changes the incarnation.
    package func restore(_ snapshot: Snapshot) {
        state.withLock { renew(&$0, with: snapshot.log, time()) }
    }

    /// Loses everything, as when a database is recreated. Changes the incarnation.
    package func wipe() {
        state.withLock {
            renew(&$0, with: MemoryLog(partitions: partitions, leaseTime: leaseTime), time())
        }
    }

    private func renew(_ state: inout State, with log: MemoryLog, _ now: Duration) {
        state.incarnations += 1
        let former = state.log
        state.log = log
        state.log.raiseMembership(to: former)
        state.log.begin(incarnation: "\(state.incarnations)", quietUntil: now + quietTime)
    }

    // MARK: For tests

    /// The claim that is in force for a partition, and its owner. Nil: none.
    package func holder(of partition: Int) -> (owner: String, claim: Claim)? {
        state.withLock { state in
            state.log.leases[partition].owner.map { ($0, state.log.claim(partition)) }
        }
    }

    /// Whether a member may change the state that it shares with others.
    package func hasMembership(_ owner: String, _ number: Int64) -> Bool {
        state.withLock { $0.log.memberships[owner] == number }
    }

    /// Until when each member has its leases, by the engine's clock.
    package var expiries: [String: Duration] { state.withLock { $0.log.members.mapValues(\.until) } }

    /// How many leases were taken from owners that had not released them.
    package var takeovers: Int { state.withLock(\.log.takeovers) }

    /// Facts about the log.
    package var backlog: Backlog { state.withLock { $0.log.backlog(fencedCommits: 0, time()) } }

    /// The checkpoint of the feed.
    package var checkpoint: (sequence: String?, n: Int64) { state.withLock { ($0.log.sequence, $0.log.n) } }

    /// All dead changes.
    package var dead: [DeadChange] { state.withLock { $0.log.dead.values.sorted { $0.change.n < $1.change.n } } }

    /// A summary of the waiting changes, for messages.
    package var rest: String {
        state.withLock { state in
            state.log.parts.indices.filter { !state.log.parts[$0].work.isEmpty || !state.log.parts[$0].parked.isEmpty }
                .map { number in
                    let part = state.log.parts[number]
                    let parked = part.parked.values.sorted { $0.due < $1.due }
                    return "\(number), \(state.log.leases[number].owner ?? "free"), position \(part.position): "
                        + "\(part.work.prefix(5).map { "\($0.change.id)@\($0.change.n)" }), "
                        + "parked \(parked.prefix(5).map { "\($0.change.id)@\($0.change.n) due \($0.due)" })"
                }.joined(separator: "\n")
        }
    }

    /// Whether no change waits, in the log or parked.
    package var isEmpty: Bool {
        state.withLock { $0.log.parts.allSatisfy { $0.work.isEmpty && $0.parked.isEmpty } }
    }
}
