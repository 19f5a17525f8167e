/// The database is no longer the one that the state belongs to.
struct DatabaseReset: Error, Equatable {
    /// The mark that is there now, if any: another bot, or this one on another machine, was here first.
    let mark: DatabaseMark?
    /// The mark is an earlier version of this bot's own.
    var isOlder = false

    var reason: String {
        if isOlder { return "the database was restored: it has this bot's mark as it was before" }
        return mark == nil
            ? "the database was reset or restored: it does not have this bot's mark any longer"
            : "the database was reset or restored: it has another mark than this bot's"
    }
}
