internal import Glibc

/// What clients may write, and how long old data is kept.
struct WritingRules: Sendable {
    /// Whether a document may have several branches that are not deleted. Sync Gateway 4 never allows it.
    var allowsConflicts = false
    /// The number of generations kept of a document's history.
    var revisionsLimit = 1_000
    /// How long the body of a replaced revision is kept, in seconds.
    ///
    /// - Note: Source: `old_rev_expiry_seconds` of Sync Gateway; its recorded answers include such bodies.
    var oldBodySeconds = 300
    /// Receives the log output of sync functions.
    var log: @Sendable (String) -> Void = { _ in }
    /// Seconds since 1970.
    var now: @Sendable () -> Int = { time(nil) }
    /// Nanoseconds since 1970.
    var preciseNow: @Sendable () -> Int64 = {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Int64(now.tv_sec) * 1_000_000_000 + Int64(now.tv_nsec)
    }
}
