internal import Encodings
internal import Locking
internal import PostgreSQL

/// This process acts for the fleet, until it gives that up, is silent for too long, or somebody takes it away.
///
/// The lease is a row with an owner, a token and a time; only the server's clock counts. It is renewed three times in
/// its life, on a connection of its own.
final class EngineLease: Sendable {
    /// The lease of the member that runs.
    static let name = "run"

    let tenure: Tenure
    private let engine: Engine
    private let ruleSetHash: String
    private let owner: String
    private let token: Int
    private let queue: PostgresQueue
    private let renewing = Locked<Task<Void, Never>?>(nil)

    private init(
        _ engine: Engine, ruleSetHash: String, token: Int, _ queue: PostgresQueue, sent: ContinuousClock.Instant
    ) {
        self.engine = engine
        self.ruleSetHash = ruleSetHash
        owner = engine.owner
        self.token = token
        self.queue = queue
        tenure = Tenure(sent: sent, lease: engine.lease)
    }

    /// Takes the lease if nobody has it. Blocks.
    ///
    /// - Throws: ``StateError``: `.locked` if somebody has it, `.engineUnavailable`.
    static func take(_ engine: Engine, ruleSetHash: String) throws(StateError) -> EngineLease {
        let queue = engine.makeQueue(deadline: engine.lease / 3)
        let owner = engine.owner
        do {
            let sent = ContinuousClock.now
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
            let lease = EngineLease(engine, ruleSetHash: ruleSetHash, token: token, queue, sent: sent)
            lease.startRenewing()
            return lease
        } catch {
            queue.close()
            throw .engine(engine, .writing, error)
        }
    }

    /// Gives it up, so that another member need not wait. Blocks for a moment.
    func release() {
        renewing.withLock { $0?.cancel() }
        guard tenure.end != nil else { return queue.close() }
        tenure.lose("it was given up")
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
        tenure.lose(Self.takenOver)
        engine.tally.add(.fencedCommits)
        throw StateError.fenced(Self.takenOver)
    }

    private static let takenOver =
        "another member has taken over, this one was asked to stop, or it was silent for too long"

    // MARK: - Renewing

    private func startRenewing() {
        let task = Task.detached { [weak self] in
            var pause = self.map { $0.engine.lease / 3 } ?? .zero
            while (try? await Task.sleep(for: pause)) != nil {
                guard let next = await self?.renew() else { return }
                pause = next
            }
        }
        renewing.withLock { $0 = task }
    }

    /// - Returns: When to renew next; nil: no more.
    private func renew() async -> Duration? {
        let sent = ContinuousClock.now
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
                tenure.lose(Self.takenOver)
                return nil
            }
            tenure.renew(sent: sent, lease: engine.lease)
            return engine.lease / 3
        } catch {
            guard let end = tenure.end else { return nil }
            guard end > .now else {
                tenure.lose("the engine did not answer in time: \(StateError.engine(engine, .writing, error))")
                return nil
            }
            return engine.lease / 20
        }
    }
}

extension Duration {
    var wholeMilliseconds: Int { Int(components.seconds) * 1000 + Int(components.attoseconds / 1_000_000_000_000_000) }
}
