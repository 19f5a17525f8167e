package import Fleet
internal import Locking
package import PostgreSQL

/// A ``WorkLog`` in PostgreSQL: one member's handle.
///
/// The tables are those of the state, and must be there. Ids and revisions are bytes, which are compared as a gateway
/// does; nothing else of a document is stored. Nearly every call is one statement and one round trip; a commit that does
/// more than move the position is a transaction of several. Leases run by `clock_timestamp()` alone. Each call that
/// changes what a lease protects locks the lease's row first, so that no member can take the lease before it is stored.
/// The order of locks is always: leases, `fleet`, positions, the rest; members last.
///
/// Three connections: renewals have one alone, so that no other call delays them.
///
/// A member that is stopped in a transaction of several statements holds its locks until the server ends its session:
/// `makeQueue` sets `idleInTransactionTimeout` to less than the time of a lease.
package final class PostgresWorkLog: WorkLog {
    package let owner: String
    package let partitions: Int
    package let leaseTime: Duration
    let member: Member
    /// Saves dead letters for dead changes, as a part of the commit.
    let keepDeadLetters: @Sendable ([DeadChange], PostgresConnection) throws -> Void
    /// Told of the engine's time, in milliseconds since 1970, and when it was asked.
    let noteTime: @Sendable (Int, ContinuousClock.Instant) -> Void
    let renewals: WorkLogCalls
    let leading: WorkLogCalls
    let working: WorkLogCalls
    let fenced = FencedCommits()
    let currentMembership = Locked<Int64?>(nil)

    /// What this handle is to the fleet.
    struct Member {
        /// Who it is, for people.
        let holder: String
        /// Whether it may have partitions.
        let works: Bool
        /// Whether it shares the work. Else it has all of it, without the log: see ``leadDirectly(_:)``.
        let shares: Bool
        /// Whether it ends once it was silent for too long, instead of going on under another membership.
        let endsWithMembership: Bool
    }

    /// Connects to nothing yet. Call ``prepare()`` first.
    ///
    /// - Parameters:
    ///   - makeQueue: Makes a connection whose calls have this deadline; its schema is the fleet's.
    ///   - owner: Of this start of the process alone.
    ///   - holder: Who it is, for people.
    ///   - works: False: a member that only leads.
    ///   - isDirect: Whether it has the whole work or nothing.
    ///   - keepDeadLetters: Called in each commit with its dead changes, which are stored already.
    ///   - endsWithMembership: Whether a renewal after the membership was over is `.refused`, instead of a new membership.
    ///   - leaseTime: Members with different ones can live together.
    ///   - partitions: Of a new fleet; of another one the number that it has.
    ///   - noteTime: Told with each renewal of the engine's time, in milliseconds since 1970, and when it was asked.
    package init(
        makeQueue: @escaping @Sendable (_ deadline: Duration) -> PostgresQueue, owner: String, holder: String,
        works: Bool = true, isDirect: Bool = false, endsWithMembership: Bool = false,
        leaseTime: Duration = .seconds(5), partitions: Int = Partitioning.defaultPartitions,
        keepDeadLetters: @escaping @Sendable ([DeadChange], PostgresConnection) throws -> Void = { _, _ in },
        noteTime: @escaping @Sendable (Int, ContinuousClock.Instant) -> Void = { _, _ in }
    ) {
        self.owner = owner
        member = Member(
            holder: holder, works: works && !isDirect, shares: !isDirect, endsWithMembership: endsWithMembership)
        self.keepDeadLetters = keepDeadLetters
        self.noteTime = noteTime
        (self.leaseTime, self.partitions) = (leaseTime, partitions)
        renewals = WorkLogCalls(makeQueue(leaseTime / 3), leaseTime: leaseTime)
        leading = WorkLogCalls(makeQueue(max(leaseTime, .seconds(10))), leaseTime: leaseTime)
        working = WorkLogCalls(makeQueue(leaseTime), leaseTime: leaseTime)
    }

    /// Makes the partitions if they are missing. Any number of members may do so at once.
    ///
    /// - Throws: ``WorkLogError``: `.refused` if the fleet has another number of partitions.
    package func prepare() async throws(WorkLogError) { try await leading.prepare(partitions: partitions) }

    /// Closes the connections once what is under way is done. Blocks that long, a deadline at most. Gives nothing back.
    package func close() {
        for calls in [renewals, leading, working] { calls.close() }
    }

    package func incarnation() async throws(WorkLogError) -> String {
        try await leading.call { [leaseTime] session in
            try session.identity.notice(leaseTime: leaseTime, session.connection)
        }
    }

    // MARK: Fencing other writes

    /// The number of this membership: another one after it was over. Nil before the first renewal.
    package var membership: Int64? { currentMembership.withLock { $0 } }

    /// Prevents others from taking over a member's leases until the transaction ends.
    ///
    /// A member that takes an expired lease ends its owner's membership, and waits for this transaction first. A
    /// member that comes back renews itself under another number: without the number, a member that was stopped for long
    /// can pass.
    ///
    /// - Parameter membership: ``membership`` when the work began. Nil: any.
    /// - Throws: ``WorkLogError`` `.fenced`; `PostgresError`.
    package static func lockMember(
        _ owner: String, membership: Int64? = nil, _ connection: PostgresConnection
    ) throws {
        let found = try connection.run(
            "SELECT 1 FROM member WHERE owner = $1 AND membership = coalesce($2::bigint, membership) FOR SHARE",
            [.text(owner), membership.map { .int(Int($0)) } ?? .null])
        guard found.rows.isEmpty else { return }
        throw WorkLogError.fenced("this member's time is over")
    }
}

extension Lease {
    /// `$1` name, `$2` owner, `$3` token, `$4` incarnation.
    func parameters(_ owner: String) -> [PostgresValue] {
        [.text("\(name)"), .text(owner), .int(Int(token)), .text(incarnation)]
    }
}

extension WorkLogError {
    static let voidLease = WorkLogError.fenced("the lease is void")
}
