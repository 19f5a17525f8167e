internal import Dispatch

/// A connection with its own queue. It is opened at the first use, and again after it broke.
///
/// It does not wait between connection attempts; the caller does.
package final class PostgresQueue: @unchecked Sendable {
    private let queue = DispatchQueue(label: "changebot.postgresql")
    private let address: PostgresAddress
    private let user: String?
    private let settings: PostgresSettings
    private let password: @Sendable () throws -> String?
    // Used only on the queue.
    private var connection: PostgresConnection?
    private var isClosed = false

    /// Does not connect yet.
    ///
    /// - Parameters:
    ///   - user: Replaces the user in the address; nil keeps it.
    ///   - password: Called on the queue each time a connection is made. Nil: `PGPASSWORD` or the `.pgpass` file.
    package init(
        _ address: PostgresAddress, user: String? = nil, settings: PostgresSettings = PostgresSettings(),
        password: @escaping @Sendable () throws -> String? = { nil }
    ) {
        (self.address, self.user, self.settings, self.password) = (address, user, settings, password)
    }

    /// Runs `body` after all earlier ones. It runs to its end even if the task is cancelled.
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

    /// Like ``perform(_:)``, but blocks the thread. Must not be called in a body.
    package func performNow<Result>(_ body: (PostgresConnection) throws -> Result) throws -> Result {
        try queue.sync { try run(body) }
    }

    /// Closes the connection when the current body is done, and opens no more. Blocks until then; must not be called in
    /// a body.
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
            throw PostgresError.unavailable(reason: "not sent: the process is ending")
        }
        if connection?.isBroken != false {
            connection = nil
            connection = try PostgresConnection(address, password: password(), user: user, settings: settings)
        }
        guard let connection else { preconditionFailure("was just made") }
        // What a body leaves open must not become part of the next one.
        defer { if !connection.isIdle { connection.close() } }
        return try body(connection)
    }
}
