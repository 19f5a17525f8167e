internal import Encodings
internal import Fleet
internal import Locking
internal import PostgreSQL

/// This process acts for the fleet, until it gives that up, is silent for too long, or somebody takes it away.
///
/// The lease is a row with an owner, a token and a time; only the server's clock counts. It is renewed three times in
/// its life, on a connection of its own: see ``Engine/renewingLease(_:)``.
final class EngineLease: Sendable {
    /// The lease of the member that runs.
    static let name = "run"

    private let tenure: Tenure
    private let clock: SystemFleetClock
    private let engine: Engine
    private let ruleSetHash: String
    private let owner: String
    private let token: Int
    private let queue: PostgresQueue
    /// Why it is over. Nil: as far as this process knows, it is not.
    private let end = Monitor<String?>(nil)

    private init(
        _ engine: Engine, ruleSetHash: String, token: Int, _ queue: PostgresQueue, sent: Duration,
        _ clock: SystemFleetClock
    ) {
        self.engine = engine
        self.ruleSetHash = ruleSetHash
        self.clock = clock
        owner = engine.owner
        self.token = token
        self.queue = queue
        tenure = Tenure(
            Lease(name: .feed, token: Int64(token), incarnation: ""), until: Self.deadline(sent, engine.lease),
            clock: clock)
    }

    private static func deadline(_ sent: Duration, _ lease: Duration) -> Duration {
        sent + max(lease - FleetSettings().margin, lease / 2)
    }

    /// Takes the lease if nobody has it. Blocks.
    ///
    /// - Throws: ``StateError``: `.locked` if somebody has it, `.engineUnavailable`.
    static func take(_ engine: Engine, ruleSetHash: String) throws(StateError) -> EngineLease {
        let queue = engine.makeQueue(deadline: engine.lease / 3)
        let owner = engine.owner
        do {
            let clock = SystemFleetClock()
            let sent = clock.now
            let token = try queue.performNow { connection in
                try connection.transaction { connection in
                    try EngineMember.lockTurn(engine, connection)
                    guard try EngineSchema.isThere(engine.schema, connection) else {
                        throw EngineMember.removed(engine)
                    }
                    try EngineMember.endExpiredSharing(connection)
                    if let holder = try EngineMember.sharing(connection) { throw StateError.locked(holder: holder) }
                    let taken = try connection.run(
                        """
                        INSERT INTO lease (name, owner, holder, token, until)
                        VALUES ($1, $2, $3, 1, clock_timestamp() + CAST($4 AS bigint) * interval '1 millisecond')
                        ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, holder = excluded.holder,
                            token = lease.token + 1, until = excluded.until
                        WHERE lease.until < clock_timestamp() OR lease.owner = excluded.owner
                        RETURNING token
                        """,
                        [.text(name), .text(owner), .text(StateLock.thisProcess), .int(engine.lease.wholeMilliseconds)])
                    if let token = taken.rows.first?.first?.int {
                        try EngineMember.renew(engine, ruleSetHash: ruleSetHash, connection)
                        return token
                    }
                    let found = try connection.run("SELECT holder FROM lease WHERE name = $1", [.text(name)])
                    throw StateError.locked(holder: found.rows.first?.first?.text ?? "")
                }
            }
            let lease = EngineLease(engine, ruleSetHash: ruleSetHash, token: token, queue, sent: sent, clock)
            engine.renewals.begin(lease)
            return lease
        } catch {
            queue.close()
            throw .engine(engine, .writing, error)
        }
    }

    /// Gives it up, so that another member need not wait. Blocks for a moment.
    func release() {
        guard lose("it was given up") else { return queue.close() }
        try? queue.performNow { [engine, ruleSetHash, owner, token] connection in
            _ = try connection.run(
                "UPDATE lease SET until = '-infinity' WHERE name = $1 AND owner = $2 AND token = $3",
                [.text(Self.name), .text(owner), .int(token)])
            // Who is drained stands by next, and is a member all the time.
            if try EngineMember.isDrained(engine, connection) {
                try EngineMember.renew(engine, ruleSetHash: ruleSetHash, connection)
            } else {
                try EngineMember.leave(owner, connection)
            }
        }
        queue.close()
    }

    /// Makes sure, until the transaction ends, that nobody takes the lease over.
    ///
    /// - Throws: ``StateError/fenced(_:)`` if somebody has; `PostgresError`.
    @Sendable func lock(_ connection: PostgresConnection) throws {
        let found = try connection.run(
            "SELECT 1 FROM lease WHERE name = $1 AND owner = $2 AND token = $3 FOR SHARE",
            [.text(Self.name), .text(owner), .int(token)])
        guard found.rows.isEmpty else { return }
        lose(Self.takenOver)
        engine.tally.add(.fencedCommits)
        throw StateError.fenced(Self.takenOver)
    }

    private static let takenOver =
        "another member has taken over, this one was asked to stop, or it was silent for too long"

    // MARK: - Tenure

    /// It does not come back.
    ///
    /// - Returns: False if it was over already.
    @discardableResult private func lose(_ reason: String) -> Bool {
        tenure.revoke()
        return end.with { end in
            guard end == nil else { return false }
            end = reason
            return true
        }
    }

    /// Must be called before anything is done that others would notice.
    ///
    /// - Throws: ``StateError/fenced(_:)``.
    func requireTenure() throws(StateError) {
        if let reason = end.quietly({ $0 }) { throw .fenced(reason) }
        guard tenure.isValid else { throw .fenced("the lease was not renewed in time") }
    }

    /// Returns when it is over.
    ///
    /// - Throws: ``StateError/fenced(_:)``, or `CancellationError`.
    func untilOver() async throws {
        await end.wait { $0 != nil }
        try Task.checkCancellation()
        try requireTenure()
    }

    // MARK: - Renewing

    /// Renews it until it is over, or until the task is cancelled.
    func keep() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                var pause = self.engine.lease / 3
                while (try? await Task.sleep(for: pause)) != nil {
                    guard let next = await self.renew() else { return }
                    pause = next
                }
            }
            group.addTask { await self.end.wait { $0 != nil } }
            await group.next()
            group.cancelAll()
        }
    }

    /// - Returns: When to renew next; nil: no more.
    private func renew() async -> Duration? {
        let sent = clock.now
        do {
            let isOurs = try await queue.perform { [owner, token, engine, ruleSetHash] connection in
                try EngineMember.renew(engine, ruleSetHash: ruleSetHash, connection)
                return try connection.run(
                    """
                    UPDATE lease SET until = clock_timestamp() + CAST($4 AS bigint) * interval '1 millisecond'
                    WHERE name = $1 AND owner = $2 AND token = $3 AND until > clock_timestamp()
                    """,
                    [.text(Self.name), .text(owner), .int(token), .int(engine.lease.wholeMilliseconds)]
                ).affected == 1
            }
            guard isOurs else {
                lose(Self.takenOver)
                return nil
            }
            tenure.prolong(until: Self.deadline(sent, engine.lease))
            return engine.lease / 3
        } catch {
            guard !tenure.isRevoked else { return nil }
            guard tenure.isValid else {
                lose("the engine did not answer in time: \(StateError.engine(engine, .writing, error))")
                return nil
            }
            return engine.lease / 20
        }
    }
}

/// Renews the leases that a process takes, one after the other, beside its work.
final class LeaseRenewals: Sendable {
    private let lease = Locked<EngineLease?>(nil)
    private let taken = Signal()

    /// A lease was taken. The one before it is over.
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
    /// Calls `body`. Meanwhile renews the lease that it takes, or that was taken before.
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
