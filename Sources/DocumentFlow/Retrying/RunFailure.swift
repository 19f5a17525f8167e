/// Why a run ended before its work was done. The checkpoint stays at what was finished.
package struct RunFailure: Error, Sendable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// The first contact was refused, or the gateway's name is unknown.
        case unreachable
        /// Credentials were refused, or this user may not see the database.
        case notAllowed
        case databaseMissing
        /// What answers is no gateway, three times in a row.
        case notAGateway
        /// Trouble that may pass, for longer than a one-shot job waits.
        case gaveUp
        /// The gateway does not know the sequence to start from.
        case sequenceRefused
        /// More documents failed than ``ErrorLimit`` allows.
        case tooManyErrors
        /// This process can't have another thread, pipe or connection.
        case outOfResources
        /// The database was reset or restored, and the run is not to start again.
        case databaseReset
        /// An address or credentials that can't be sent.
        case badConfiguration
    }

    package let code: Code
    package let description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }

    package init(_ limit: ErrorLimit, _ failures: Failures) {
        let found = if case .percent = limit { failures.shareDescription } else { failures.description }
        self.init(.tooManyErrors, "stopped: \(found), more than --max-errors \(limit) allows")
    }
}
