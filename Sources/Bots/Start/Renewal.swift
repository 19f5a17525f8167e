internal import BotState

/// Decides what to do with a state whose database was reset or restored.
struct Renewal {
    enum Step: Equatable {
        /// Clear the state, which then belongs to the database with this nonce; nil if there is no mark.
        case forget(identity: String?)
        /// Close the state, and look up the one that belongs to the database.
        case lookUp
        /// Replace the mark that has this nonce, because its original database may still exist elsewhere. The two
        /// databases then have different marks.
        case replaceMark(identity: String)
    }

    let reset: DatabaseReset
    /// Whether the run may open another state and write the mark: false for a dry run.
    let mayChangeState: Bool
    /// Whether another state belongs to the database with the current mark.
    let isKnownToAnotherState: Bool
    /// Whether the database was found at a new address.
    let isAtNewAddress: Bool

    var first: Step {
        guard mayChangeState, let identity = reset.mark?.identity else {
            return .forget(identity: reset.mark?.identity)
        }
        if reset.isOlder { return .replaceMark(identity: identity) }
        return isKnownToAnotherState ? .lookUp : .forget(identity: identity)
    }

    /// The step after ``Step/replaceMark(identity:)``.
    ///
    /// - Parameter new: The nonce of the new mark; nil if this user may not write it.
    func next(afterReplacing old: String, by new: String?) -> Step {
        guard let new else { return .forget(identity: old) }
        return isAtNewAddress ? .lookUp : .forget(identity: new)
    }
}
