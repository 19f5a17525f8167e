/// What becomes of a state whose database was reset or restored.
struct Renewal {
    enum Step: Equatable {
        /// Clear the state. From now on it belongs to the database with this nonce; nil if there is no mark.
        case forget(identity: String?)
        /// Close the state, and look up the one that belongs to the database.
        case lookUp
        /// Replace the mark with this nonce: the database that it was made for may still exist elsewhere. From then on
        /// the two have different marks.
        case replaceMark(identity: String)
    }

    let reset: DatabaseReset
    /// Whether the run may open another state and write the mark: false for a dry run.
    let choosesState: Bool
    /// Whether another state belongs to the database with the mark that is there now.
    let isKnownToAnotherState: Bool
    /// Whether the database was found at a new address.
    let isAtNewAddress: Bool

    var first: Step {
        guard choosesState, let identity = reset.mark?.identity else {
            return .forget(identity: reset.mark?.identity)
        }
        if reset.isOlder { return .replaceMark(identity: identity) }
        return isKnownToAnotherState ? .lookUp : .forget(identity: identity)
    }

    /// What follows ``Step/replaceMark(identity:)``.
    ///
    /// - Parameter new: The nonce of the new mark; nil if this user may not write it.
    func next(afterReplacing old: String, by new: String?) -> Step {
        guard let new else { return .forget(identity: old) }
        return isAtNewAddress ? .lookUp : .forget(identity: new)
    }
}
