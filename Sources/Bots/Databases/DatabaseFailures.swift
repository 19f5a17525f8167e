internal import BotState

/// The databases that a one-shot run could not use.
package struct DatabaseFailures: Error, Sendable, CustomStringConvertible {
    /// The names and errors, sorted by name. At least one.
    package let failures: [(name: String, error: any Error)]
    /// The number of all databases.
    package let total: Int
    let what: String

    /// Whether every database has failed.
    package var isComplete: Bool { failures.count == total }

    package var description: String {
        let names = failures.prefix(10).map(\.name).joined(separator: ", ")
        let more = failures.count > 10 ? " and \(failures.count - 10) more" : ""
        let first = failures.first.map { "; the first, \($0.name): \($0.error)" } ?? ""
        return "\(failures.count) of \(total) \(what) were skipped: \(names)\(more)\(first)"
    }
}

extension StateError {
    /// Whether it is an error of the engine or of the state folder, so that no other database can be used either.
    var isOfEveryDatabase: Bool {
        switch self {
        case .engineRefused, .cannotCreate: true
        default: false
        }
    }
}
