/// Why a call to PostgreSQL failed.
///
/// Safe to log: contains no SQL, no credentials, and only values that PostgreSQL's own message contains. The SQLSTATE
/// is the server's; nil if the server did not send one.
package enum PostgresError: Error, Sendable, Equatable {
    /// No connection, connection lost, deadline passed, or the server can't write now. A retry may help. Outside a
    /// transaction it is unknown whether the statement took effect.
    case unavailable(reason: String, sqlState: String? = nil)
    /// COMMIT was sent, but not answered: the transaction may or may not be committed.
    case unknownCommit(reason: String, sqlState: String? = nil)
    /// Other transactions interfered, and nothing was changed. The same transaction may succeed now.
    case conflict(reason: String, sqlState: String? = nil)
    /// The server has no room, usually on its disk.
    case full(reason: String, sqlState: String? = nil)
    /// Any other error of the server, or a request that it would refuse. A retry does not help.
    case refused(reason: String, sqlState: String? = nil)
    /// libpq can't be loaded.
    case libraryMissing(reason: String)
    /// An answer that this client can't read, such as a column of an unknown type.
    case badAnswer(reason: String)
}

extension PostgresError {
    /// Five letters and digits; nil if the error is not the server's.
    package var sqlState: String? {
        switch self {
        case .unavailable(_, let state), .unknownCommit(_, let state), .conflict(_, let state), .full(_, let state),
            .refused(_, let state):
            state
        case .libraryMissing, .badAnswer: nil
        }
    }

    /// Whether the cause can be fixed outside this program: a login, a permission, a database or a table is missing,
    /// for example while a dump is restored. Not true for errors in a statement or its values.
    package var isRecoverable: Bool {
        guard case .refused(_, let state) = self else { return false }
        // Without an SQLSTATE, the login failed, for example for lack of a password or a trusted certificate.
        guard let state else { return true }
        return state.hasPrefix("28") || Self.recoverable.contains(state)
    }

    /// No such database, schema, table, column or key; no permission; tables that changed after a statement was
    /// prepared; a database that does not accept connections; a recently dropped object, which PostgreSQL reports as an
    /// internal error.
    private static let recoverable: Set = [
        "3D000", "3F000", "42P01", "42703", "42P10", "42501", "0A000", "55000", "XX000",
    ]

    /// One line, without the SQLSTATE.
    package var reason: String {
        switch self {
        case .unavailable(let reason, _), .unknownCommit(let reason, _), .conflict(let reason, _),
            .full(let reason, _), .refused(let reason, _), .libraryMissing(let reason), .badAnswer(let reason):
            reason
        }
    }
}

extension PostgresError: CustomStringConvertible {
    /// One line for the user: the cause and, if there is one, the remedy.
    package var description: String {
        let state = sqlState.map { " (SQLSTATE \($0))" } ?? ""
        return switch self {
        case .unavailable: "PostgreSQL is unavailable: \(reason)\(state)"
        case .unknownCommit: "PostgreSQL did not say whether it committed a transaction: \(reason)\(state)"
        case .conflict: "PostgreSQL rolled a transaction back: \(reason)\(state)"
        case .full: "PostgreSQL is out of resources: \(reason)\(state)"
        case .refused: "PostgreSQL refused: \(reason)\(state)"
        case .libraryMissing: "libpq.so.5 can't be loaded (\(reason)): install it with: apt-get install libpq5"
        case .badAnswer: "PostgreSQL's answer can't be used: \(reason)"
        }
    }
}
