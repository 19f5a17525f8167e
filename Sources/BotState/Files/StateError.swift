internal import GRDB

/// Why a state can't be used.
package enum StateError: Error, Sendable, CustomStringConvertible {
    /// Another run holds it.
    case locked(holder: String)
    /// There is no state, or none for this database.
    case missing(String)
    /// There are several states, and it is unclear which one to use.
    case ambiguous(String)
    case cannotCreate(path: String, reason: String)
    /// A fleet that works on another database.
    case foreign(String)
    /// Another member of the fleet has taken over, or may do so soon: nothing more was written.
    case fenced(String)
    /// The engine is unreachable, or can't write now. The write may or may not be stored.
    case engineUnavailable(String)
    /// The engine refuses this process: the login is refused, the database or tables are missing, or the tables have
    /// another version. At the start this is a configuration error. Later, an operator may be correcting it.
    case engineRefused(path: String, reason: String)
    /// Its tables are not those of this program, or it is not a state at all.
    case unreadable(path: String, reason: String)
    /// The write failed as a whole, most often because the disk is full.
    case cannotWrite(path: String, reason: String)

    /// One line for the user: the problem and the remedy.
    package var description: String {
        switch self {
        case .locked(holder: ""):
            "another run, in an unknown process, uses this state; wait for it, or use another --name"
        case .locked(let holder):
            "another run uses this state: \(holder); wait for it, or use another --name"
        case .missing(let description), .ambiguous(let description), .foreign(let description),
            .engineUnavailable(let description):
            description
        case .fenced(let reason): "this process may no longer work for the fleet: \(reason)"
        case .cannotCreate(let path, let reason): "can't create \(path): \(reason)"
        case .unreadable(let path, let reason), .engineRefused(let path, let reason):
            "can't use the state in \(path): \(reason)"
        case .cannotWrite(let path, let reason): "can't write \(path): \(reason)"
        }
    }
}

// MARK: - From SQLite's errors

extension StateError {
    package static func creating(_ path: String, _ error: any Error) -> StateError {
        common(path, error) ?? .cannotCreate(path: path, reason: reason(error))
    }

    static func reading(_ path: String, _ error: any Error) -> StateError {
        common(path, error) ?? .unreadable(path: path, reason: reason(error))
    }

    static func writing(_ path: String, _ error: any Error) -> StateError {
        common(path, error) ?? .cannotWrite(path: path, reason: reason(error))
    }

    /// When a temporary copy of a state is made.
    package static func copying(_ path: String, _ error: any Error) -> StateError {
        let failure = reading(path, error)
        guard case .cannotWrite(path, let reason) = failure else { return failure }
        return .cannotWrite(path: copyName(path), reason: reason)
    }

    static func copyName(_ path: String) -> String { "a temporary copy of \(path)" }

    /// Errors that mean the same whatever was being done.
    private static func common(_ path: String, _ error: any Error) -> StateError? {
        if let error = error as? StateError { return error }
        guard let error = error as? DatabaseError else { return nil }
        switch error.resultCode {
        case .SQLITE_FULL: return .cannotWrite(path: path, reason: "the disk is full; free some space")
        case .SQLITE_BUSY: return .locked(holder: "another process is writing to \(path)")
        // Opening also creates files: SQLite reports this if a file can't grow.
        case .SQLITE_IOERR where error.extendedResultCode != .SQLITE_IOERR_READ:
            return .cannotWrite(path: path, reason: reason(error))
        default: return nil
        }
    }

    /// Without the SQL statement, which does not help a user.
    private static func reason(_ error: any Error) -> String {
        guard let error = error as? DatabaseError else { return "\(error)" }
        let message = error.message ?? "\(error.resultCode)"
        return error.resultCode == .SQLITE_IOERR ? message + "; is the disk full?" : message
    }
}
