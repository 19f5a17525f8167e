internal import Fleet
internal import Locking
internal import PostgreSQL

/// The calls of one kind: their connection, and the meaning of their errors.
final class WorkLogCalls: Sendable {
    /// What a call needs.
    struct Session {
        let connection: PostgresConnection
        let identity: WorkLogIdentity
    }

    private struct Known {
        var process: Int
        var host: PostgresAddress.Host
        var identity: WorkLogIdentity
    }

    private let queue: PostgresQueue
    private let leaseTime: Duration
    /// The connection that was prepared last.
    private let known = Locked<Known?>(nil)

    init(_ queue: PostgresQueue, leaseTime: Duration) { (self.queue, self.leaseTime) = (queue, leaseTime) }

    /// Blocks until the calls under way are done.
    func close() { queue.close() }

    /// Creates the partitions if they are missing.
    func prepare(partitions: Int) async throws(WorkLogError) {
        try await perform { [leaseTime] connection in
            try WorkLogPartitions.prepare(partitions, leaseTime: leaseTime, connection)
        }
    }

    /// Reads, or runs a separate transaction, whose errors show whether it is stored.
    func call<Result: Sendable>(
        _ body: @escaping @Sendable (Session) throws -> Result
    ) async throws(WorkLogError) -> Result {
        try await perform { [self] in try body(session($0)) }
    }

    /// Runs one statement that changes data, outside a transaction. The server commits it before it answers.
    ///
    /// - Throws: ``WorkLogError`` `.unknownCommit` if the connection is lost meanwhile, even if nothing was sent yet.
    func change<Result: Sendable>(
        _ body: @escaping @Sendable (Session) throws -> Result
    ) async throws(WorkLogError) -> Result {
        try await perform { [self] connection in
            let session = try session(connection)
            do {
                return try body(session)
            } catch PostgresError.unavailable(let reason, let state) where connection.isBroken {
                throw PostgresError.unknownCommit(reason: reason, sqlState: state)
            }
        }
    }

    /// Calls `body` in a transaction, and blocks the thread.
    ///
    /// - Throws: What `body` throws; `PostgresError`.
    func transactionNow<Result>(_ body: (Session) throws -> Result) throws -> Result {
        try queue.performNow { connection in
            let session = try session(connection)
            return try connection.transaction { _ in try body(session) }
        }
    }

    private func perform<Result: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws -> Result
    ) async throws(WorkLogError) -> Result {
        do { return try await queue.perform(body) } catch { throw WorkLogError(error) }
    }

    /// Sets up a new connection, and checks whether its server is still the one that granted the leases.
    private func session(_ connection: PostgresConnection) throws -> Session {
        if let known = known.withLock({ $0 }), known.process == connection.processID, known.host == connection.host {
            return Session(connection: connection, identity: known.identity)
        }
        // Plans are cached. A plan made while a table is nearly empty would scan all of it when it is full.
        try connection.script("SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off")
        let identity = try WorkLogIdentity(connection)
        _ = try identity.checkServer(leaseTime: leaseTime, connection)
        known.withLock { $0 = Known(process: connection.processID, host: connection.host, identity: identity) }
        return Session(connection: connection, identity: identity)
    }
}

extension WorkLogError {
    /// Another transaction inserted a row with the same key after this one had checked.
    private static let uniqueViolation = "23505"

    /// What an error of PostgreSQL means for a prepared work log: errors that an operator may correct are retried.
    init(_ error: any Error) {
        switch error {
        case let error as WorkLogError: self = error
        case let error as PostgresError:
            switch error {
            case .unavailable, .conflict, .full: self = .unavailable(error.description)
            case .refused where error.isRecoverable || error.sqlState == Self.uniqueViolation:
                self = .unavailable(error.description)
            case .unknownCommit: self = .unknownCommit(error.description)
            case .refused, .libraryMissing, .badAnswer: self = .refused(error.description)
            }
        // For example, the password file can't be read.
        default: self = .unavailable("\(error)")
        }
    }
}
