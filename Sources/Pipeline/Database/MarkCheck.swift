/// What the mark in the database says about the state's database.
struct MarkCheck {
    enum Result: Equatable {
        /// The database is the state's.
        case same(FoundMark)
        /// The state has no database yet: from now on it belongs to this one.
        case adopt(FoundMark)
        /// The state has no database yet, and this one has no mark: it gets one.
        case addMark
        /// The mark is gone. One answer is not enough: it may come from a gateway that is just starting.
        case lookAgain
        case reset(DatabaseReset)
    }

    /// The nonce of the state's database; nil if it has none yet.
    let known: String?
    /// How often the mark had been written when it was last seen.
    let generation: Int

    /// - Parameter isSecondCheck: The mark was gone before, and the gateway reports the database as online.
    func result(_ found: FoundMark?, isSecondCheck: Bool) -> Result {
        guard let known else { return found.map { .adopt($0) } ?? .addMark }
        guard let found else { return isSecondCheck ? .reset(DatabaseReset(mark: nil)) : .lookAgain }
        guard found.mark.identity == known else { return .reset(DatabaseReset(mark: found.mark)) }
        // A restored backup may hold an older version of the mark.
        return found.generation < generation ? .reset(DatabaseReset(mark: found.mark, isOlder: true)) : .same(found)
    }
}
