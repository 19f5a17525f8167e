/// The tables of a state: a file of SQLite, or a schema of PostgreSQL.
///
/// Calls throw the database's errors, which ``error(_:_:)`` converts to ``StateError``.
package protocol StateStore: Sendable {
    var dialect: SQLDialect { get }

    /// Calls `body` in a transaction with a consistent snapshot. Blocks.
    func read<Value>(_ body: (any StateSession) throws -> Value) throws -> Value

    /// The same without blocking.
    func read<Value: Sendable>(_ body: @escaping @Sendable (any StateSession) throws -> Value) async throws -> Value

    /// Calls `body` in a transaction, which is on disk when the call returns. If anything throws, nothing was written.
    func write<Value: Sendable>(_ body: @escaping @Sendable (any StateSession) throws -> Value) async throws -> Value

    /// The same, blocking.
    func writeNow<Value>(_ body: (any StateSession) throws -> Value) throws -> Value

    /// Converts an error of the database.
    func error(_ purpose: StatePurpose, _ error: any Error) -> StateError

    /// No call may follow.
    func close()
}

/// What was being done when an error occurred.
package enum StatePurpose { case creating, reading, writing }
