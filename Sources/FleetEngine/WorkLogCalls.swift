internal import Fleet
internal import Locking
internal import PostgreSQL

/// The calls of one kind: a connection of their own, and what their errors mean.
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

    /// Blocks until what is under way is done.
    func close() { queue.close() }

    /// Makes the partitions if they are missing.
    func prepare(partitions: Int) async throws(WorkLogError) {
        try await perform { [leaseTime] connection in
            try WorkLogPartitions.prepare(partitions, leaseTime: leaseTime, connection)
        }
    }

    /// Reads, or makes a transaction of its own, whose errors tell whether it is stored.
    func call<Result: Sendable>(
        _ body: @escaping @Sendable (Session) throws -> Result
    ) async throws(WorkLogError) -> Result {
        try await perform { [self] in try body(session($0)) }
    }

    /// Changes something with one statement outside a transaction: the server commits it before it answers.
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

    /// Sets up a new connection, and looks whether its server is still the one that granted the leases.
    private func session(_ connection: PostgresConnection) throws -> Session {
        if let known = known.withLock({ $0 }), known.process == connection.processID, known.host == connection.host {
            return Session(connection: connection, identity: known.identity)
        }
        // Plans are kept, and those that are made while a table is nearly empty would read all of it when it is full.
        try connection.script("SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off")
        let identity = try WorkLogIdentity(connection)
        _ = try identity.notice(leaseTime: leaseTime, connection)
        known.withLock { $0 = Known(process: connection.processID, host: connection.host, identity: identity) }
        return Session(connection: connection, identity: identity)
    }
}

extension WorkLogError {
    /// Another transaction made a row with the same key after this one had looked.
    private static let uniqueViolation = "23505"

    /// What an error of PostgreSQL means for a work log that was prepared before: what an operator may correct is worth a retry.
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
        // Such as a file with the password that can't be read.
        default: self = .unavailable("\(error)")
        }
    }
}
