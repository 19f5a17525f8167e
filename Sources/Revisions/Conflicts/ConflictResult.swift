/// The result of processing a document in conflict. The decision itself is a `ConflictResolution`.
package enum ConflictResult: Sendable, Equatable {
    case resolved
    /// There is no conflict, or it was already resolved by another client.
    case nothing
    /// The document has changed since it was read. It must be read and decided again.
    case changed
    /// The document is left in conflict.
    case left(reason: String)
}
