/// Why a call to a work log failed. The text is safe to log: it names no document.
package enum WorkLogError: Error, Equatable, Sendable {
    /// Another member has the lease now, or the call was based on an older state of the log. Nothing changed: discard
    /// what was read under that lease, and claim it again.
    case fenced(String)
    /// The engine cannot be reached or does not answer. Nothing changed: try again later.
    case unavailable(String)
    /// A write was not answered: it is stored, will be stored, or never will be. Read the state again and continue from
    /// there.
    case unknownCommit(String)
    /// The engine will never do this, for example because the log has another number of partitions.
    case refused(String)

    /// The reason when calls of a member are refused because it was silent for too long.
    package static let membershipIsOver = "the membership ended: this member was silent for too long"
}

extension WorkLogError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .fenced(let reason), .unavailable(let reason), .unknownCommit(let reason), .refused(let reason): reason
        }
    }
}
