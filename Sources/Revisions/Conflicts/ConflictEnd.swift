/// How work on a document in conflict ended.
package enum ConflictEnd: Sendable, Equatable {
    case resolved
    /// There is no conflict, or no longer: another process has resolved it.
    case nothing
    /// The document is left in conflict.
    case left(reason: String)
}
