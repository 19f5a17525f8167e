/// The database is not the one that the state belongs to any longer.
struct DatabaseReset: Error {
    /// The one that the new database has already: another bot, or the same on another machine, was here before.
    let mark: DatabaseMark?
    /// The mark is this bot's own, as it was some time ago.
    var isOlder = false

    var reason: String {
        if isOlder { return "the database was restored: it has this bot's mark as it was before" }
        return mark == nil
            ? "the database was reset or restored: it does not have this bot's mark any longer"
            : "the database was reset or restored: it has another mark than this bot's"
    }
}

/// What to do then.
package enum ResetPolicy: String, Sendable, CaseIterable {
    /// Start again at the beginning.
    case restart
    /// End the run (78).
    case stop
}
