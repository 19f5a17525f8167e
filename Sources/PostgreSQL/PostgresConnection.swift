internal import CPostgreSQL

/// One session on a PostgreSQL server.
///
/// For one thread or queue at a time. Every call blocks, but never longer than ``PostgresSettings/deadline``, after
/// which the connection is broken. A broken connection stays broken: create a new one.
///
/// Does not work with a pooler that changes the server session between transactions: statements are prepared once per
/// connection.
package final class PostgresConnection {
    let library: cpostgresql_functions
    let settings: PostgresSettings
    /// The server that accepted the connection.
    package let host: PostgresAddress.Host
    /// The server process of this connection.
    package let processID: Int
    /// Nil once it is broken or closed.
    private(set) var handle: OpaquePointer?
    /// Why it is broken.
    private var breakReason: PostgresError?
    var statements = StatementNames()
    /// Nil outside ``transaction(readOnly:deadline:_:)``.
    var transaction: OpenTransaction?

    /// Connects to the first host that accepts it.
    ///
    /// - Parameters:
    ///   - password: Nil: `PGPASSWORD`, or the `.pgpass` file.
    ///   - user: Replaces the user in the address; nil keeps it.
    /// - Throws: ``PostgresError``, with the reason of each host if there are several.
    package init(
        _ address: PostgresAddress, password: String?, user: String? = nil,
        settings: PostgresSettings = PostgresSettings()
    ) throws(PostgresError) {
        let library = try PostgresLibrary.functions()
        let connector = PostgresConnector(
            library: library, address: address, password: password, user: user, settings: settings)
        let (handle, host) = try connector.connect()
        (self.library, self.settings, self.handle, self.host) = (library, settings, handle, host)
        processID = Int(library.PQbackendPID(handle))
        do throws(PostgresError) { try requireNoPooler() } catch {
            close()
            throw error
        }
    }

    /// A pooler reports an invented process id when a connection begins, and may change the session between
    /// transactions. An engine's locks would then be lost without an error.
    private func requireNoPooler() throws(PostgresError) {
        guard case .int(let serving)? = try runOnce("SELECT pg_backend_pid()::bigint").rows.first?.first,
            Int(serving) != processID
        else { return }
        throw .pooler("\(host): the connection and its session belong to different processes")
    }

    deinit { close() }

    /// Ends the session. Calls fail afterwards.
    package func close() { markBroken(.unavailable(reason: "the connection is closed")) }

    /// Whether every further call fails.
    package var isBroken: Bool { handle == nil }

    /// Whether it is usable and not in a transaction.
    package var isIdle: Bool { handle.map { library.PQtransactionStatus($0) == PQTRANS_IDLE } ?? false }

    /// A quoted identifier for SQL text. It keeps its case and may contain anything but U+0000.
    package static func quotedIdentifier(_ name: String) -> String {
        "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
    }

    // MARK: - For the rest of this class

    /// - Throws: Why it is broken.
    func usableHandle() throws(PostgresError) -> OpaquePointer {
        if let handle { return handle }
        throw .unavailable(reason: breakReason?.reason ?? "the connection is closed", sqlState: breakReason?.sqlState)
    }

    func markBroken(_ error: PostgresError) {
        guard let handle else { return }
        // Does not block: the socket is non-blocking, and unsent data is dropped.
        library.PQfinish(handle)
        self.handle = nil
        breakReason = error
    }

    /// The deadline of a call that starts now.
    var deadline: ContinuousClock.Instant {
        let own = ContinuousClock.now + settings.deadline
        return transaction.map { $0.deadline ?? own } ?? own
    }
}
