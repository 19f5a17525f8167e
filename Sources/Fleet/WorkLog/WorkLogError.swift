/// Why a call to a work log failed. The text is for people and safe to log: it names no document.
package enum WorkLogError: Error, Equatable, Sendable {
    /// Another member has the lease now, or the call was made against an older state of the log. Nothing changed: forget
    /// what was read under that lease, and ask for it again.
    case fenced(String)
    /// The engine cannot be reached or does not answer. Nothing changed: try again later.
    case unavailable(String)
    /// No answer to a change: it is stored, or will be, or never. Read the own state again and go on from there.
    case unknownCommit(String)
    /// The engine will never do this, for example because the log has another number of partitions.
    case refused(String)

    /// Why the calls of a member that was silent for too long are refused.
    package static let membershipIsOver = "the membership was over: this member was silent for too long"
}

extension WorkLogError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .fenced(let reason), .unavailable(let reason), .unknownCommit(let reason), .refused(let reason): reason
        }
    }
}
