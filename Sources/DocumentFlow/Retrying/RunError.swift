/// Why a run ended before its work was done. The checkpoint covers the finished work.
package struct RunError: Error, Sendable, CustomStringConvertible {
    /// Decides the exit code of the process.
    package enum Code: Sendable, Equatable {
        /// The first contact was refused, or the gateway's name is unknown.
        case unreachable
        /// Credentials were refused, or this user may not see the database.
        case notAllowed
        case databaseMissing
        /// The answers are not those of a gateway, three consecutive times.
        case notAGateway
        /// A temporary failure lasted longer than a one-shot job retries.
        case gaveUp
        /// The gateway does not know the sequence to start from.
        case sequenceRefused
        /// More documents failed than ``ErrorLimit`` allows.
        case tooManyErrors
        /// This process can't get another thread, pipe or connection.
        case outOfResources
        /// The database was reset or restored, and the run must not start over.
        case databaseReset
        /// An address or credentials that can't be sent.
        case badConfiguration
        /// A file that rules write to can't be opened or created.
        case cannotCreate
        /// A file that rules write to is full, or its reader is gone.
        case cannotWrite
    }

    /// What kind of failure it is.
    package let code: Code
    /// What happened and what to do, for the user. Without credentials or document bodies.
    package let description: String

    /// More documents failed than the limit allows.
    package init(_ limit: ErrorLimit, _ failures: Failures) {
        let found = if case .percent = limit { failures.shareDescription } else { failures.description }
        self.init(.tooManyErrors, "stopped: \(found), more than --max-errors \(limit) allows")
    }

    /// - Parameter description: Without credentials or document bodies, because it is logged.
    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
