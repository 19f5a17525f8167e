internal import Dispatch

/// A connection on a queue of its own, made when it is first needed and again after it broke.
///
/// It does not wait between two attempts to connect: that is the caller's matter.
package final class PostgresQueue: @unchecked Sendable {
    private let queue = DispatchQueue(label: "changebot.postgresql")
    private let address: PostgresAddress
    private let user: String?
    private let settings: PostgresSettings
    private let password: @Sendable () throws -> String?
    // Used only on the queue.
    private var connection: PostgresConnection?
    private var isClosed = false

    /// Starts nothing.
    ///
    /// - Parameters:
    ///   - user: Instead of the user in the address; nil keeps that.
    ///   - password: Called on the queue each time a connection is made. Nil: `PGPASSWORD` or the `.pgpass` file.
    package init(
        _ address: PostgresAddress, user: String? = nil, settings: PostgresSettings = PostgresSettings(),
        password: @escaping @Sendable () throws -> String? = { nil }
    ) {
        (self.address, self.user, self.settings, self.password) = (address, user, settings, password)
    }

    /// Runs `body` once those before it are done. It runs to its end even if the task is cancelled.
    ///
    /// - Throws: The error of `body`; ``PostgresError`` if there is no connection; the error of the password.
    package func perform<Result: Sendable>(
        _ body: @escaping @Sendable (PostgresConnection) throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(with: Swift.Result { try self.run(body) })
            }
        }
    }

    /// As ``perform(_:)``, but blocks the thread. Not to be called in a body.
    package func performNow<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
        try queue.sync { try run(body) }
    }

    /// Closes the connection once what is under way is done, and makes no more. Blocks that long; not to be called in a
    /// body.
    package func close() {
        queue.sync {
            isClosed = true
            connection?.close()
            connection = nil
        }
    }

    private func run<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
        guard !isClosed else { throw PostgresError.unavailable(reason: "the connection is closed") }
        guard settings.limit?.isOver != true else {
            throw PostgresError.unavailable(reason: "not asked: the process is ending")
        }
        if connection?.isBroken != false {
            connection = nil
            connection = try PostgresConnection(address, password: password(), user: user, settings: settings)
        }
        guard let connection else { preconditionFailure("was just made") }
        // What a body leaves behind must not become a part of the next.
        defer { if !connection.isIdle { connection.close() } }
        return try body(connection)
    }
}
