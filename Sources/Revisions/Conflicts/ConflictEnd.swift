/// How work on a document in conflict ended. What was decided is a `ConflictResolution`.
package enum ConflictEnd: Sendable, Equatable {
    case resolved
    /// There is no conflict, or another program has already resolved it.
    case nothing
    /// The document has changed since it was read: it is to be read and decided again.
    case changed
    /// The document is left in conflict.
    case left(reason: String)
}
