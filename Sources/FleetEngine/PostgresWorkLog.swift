package import Fleet
internal import Locking
package import PostgreSQL

/// A ``WorkLog`` in PostgreSQL: one member's handle.
///
/// The tables belong to the state and must exist. Ids and revisions are stored as bytes and compared as a gateway
/// compares them; nothing else of a document is stored. Nearly every call is one statement and one round trip; a commit
/// that does more than move the position is a transaction of several statements. Only `clock_timestamp()` determines
/// when leases expire. Each call that changes what a lease protects locks the lease's row first, so that no member can
/// take the lease before the change is stored. Locks are always taken in this order: leases, `fleet`, positions, other
/// tables, members.
///
/// It has three connections. Renewals have their own, so that no other call delays them.
///
/// A member that is paused in a transaction of several statements holds its locks until the server ends its session. So
/// `makeQueue` sets `idleInTransactionTimeout` to less than the duration of a lease.
package final class PostgresWorkLog: WorkLog {
    package let owner: String
    package let partitions: Int
    package let leaseTime: Duration
    let member: Member
    /// Saves dead letters for dead changes, as a part of the commit.
    let keepDeadLetters: @Sendable ([DeadChange], PostgresConnection) throws -> Void
    /// Receives the engine's time, in milliseconds since 1970, and when it was requested.
    let noteTime: @Sendable (Int, ContinuousClock.Instant) -> Void
    let renewals: WorkLogCalls
    let leading: WorkLogCalls
    let working: WorkLogCalls
    let fenced = FencedCommits()
    let currentMembership = Locked<Int64?>(nil)

    /// The role of this handle in the fleet.
    struct Member {
        /// How the process describes itself.
        let holder: String
        /// Whether it may work on partitions.
        let works: Bool
        /// Whether it shares the work. Otherwise it does all the work, without the log: see ``leadDirectly(_:)``.
        let shares: Bool
        /// Whether the process ends once it was silent for too long, instead of continuing under a new membership.
        let endsWithMembership: Bool
    }

    /// Does not connect yet. Call ``prepare()`` first.
    ///
    /// - Parameters:
    ///   - makeQueue: Makes a connection to the fleet's schema whose calls have this deadline.
    ///   - owner: Unique to this start of the process.
    ///   - holder: How the process describes itself.
    ///   - works: False for a member that only leads.
    ///   - isDirect: Whether it does all the work or none.
    ///   - keepDeadLetters: Called in each commit with its dead changes, after these are stored.
    ///   - endsWithMembership: Whether a renewal after the end of the membership is `.refused`, instead of beginning a
    ///     new one.
    ///   - leaseTime: Members may have different ones.
    ///   - partitions: For a new fleet; for an existing one the number that it has.
    ///   - noteTime: Receives with each renewal the engine's time, in milliseconds since 1970, and when it was
    ///     requested.
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

    /// Creates the partitions if they are missing. Any number of members may do so at once.
    ///
    /// - Throws: ``WorkLogError``: `.refused` if the fleet has another number of partitions.
    package func prepare() async throws(WorkLogError) { try await leading.prepare(partitions: partitions) }

    /// Closes the connections once the calls under way are done. Blocks until then, at most for one deadline. Releases
    /// nothing.
    package func close() {
        for calls in [renewals, leading, working] { calls.close() }
    }

    package func incarnation() async throws(WorkLogError) -> String {
        try await leading.call { [leaseTime] session in
            try session.identity.checkServer(leaseTime: leaseTime, session.connection)
        }
    }

    // MARK: Fencing other writes

    /// The number of this membership. It changes after a membership ends. Nil before the first renewal.
    package var membership: Int64? { currentMembership.withLock { $0 } }

    /// Prevents other members from taking over a member's leases until the transaction ends.
    ///
    /// A member that takes an expired lease ends its owner's membership, and waits for this transaction first. A member
    /// that rejoins has another number: without checking the number, a member that was paused for long could pass.
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
        throw WorkLogError.fenced("this member's membership is over")
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
