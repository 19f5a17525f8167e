/// What the mark in the database says about the state's database.
struct MarkCheck {
    enum Result: Equatable {
        /// The database is the state's.
        case same(StoredMark)
        /// The state has no database yet, and from now on belongs to this one.
        case adopt(StoredMark)
        /// The state has no database yet, and this one has no mark: add one.
        case addMark
        /// The mark is missing, different or an earlier one. One answer is not enough: it may come from a gateway that
        /// is just starting, or from a cache.
        case checkAgain
        /// No two checks agree.
        case unstable
        case reset(DatabaseReset)
    }

    /// The maximum number of checks before it is clear that no two agree.
    private static let maxChecks = 3

    /// The nonce of the state's database; nil if it has none yet.
    let known: String?
    /// How many times the mark had been written when it was last seen.
    let generation: Int

    /// - Parameter earlier: The results of the checks just before this one. The gateway has reported the database as
    ///   online since.
    func result(_ found: StoredMark?, after earlier: [DatabaseMark?] = []) -> Result {
        guard let known else { return found.map { .adopt($0) } ?? .addMark }
        // A restored backup may hold an older version of the mark.
        let isOwn = found?.mark.identity == known
        if isOwn, let found, found.generation >= generation { return .same(found) }
        guard let last = earlier.last, last?.identity == found?.mark.identity else {
            return earlier.count + 1 < Self.maxChecks ? .checkAgain : .unstable
        }
        return .reset(DatabaseReset(mark: found?.mark, isOlder: isOwn))
    }
}

/// The database is no longer the one that the state belongs to.
package struct DatabaseReset: Error, Equatable {
    /// The current mark, if any: then another bot, or this bot on another machine, was first.
    package let mark: DatabaseMark?
    /// The mark is an earlier version of this bot's own.
    package var isOlder = false
    /// What the state has to know about it, if everything is read again.
    package var record: ResetRecord?

    package var reason: String {
        if isOlder { return "the database was restored: it has an earlier version of this bot's mark" }
        return mark == nil
            ? "the database was reset or restored: this bot's mark is missing"
            : "the database was reset or restored: its mark is not this bot's"
    }
}
