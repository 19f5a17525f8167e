/// When the checkpoint is copied into the database.
struct CopySchedule {
    /// The time between two copies of a checkpoint that moves.
    static let interval: Duration = .seconds(60)
    /// The time after which the copy of a checkpoint that does not move is written again. Sync Gateway drops local
    /// documents after 90 days.
    static let refreshInterval: Duration = .seconds(86_400)

    private var copied: ContinuousClock.Instant?

    /// The first copy is due at once.
    ///
    /// - Parameter isCurrent: The copy in the database is that of the present checkpoint.
    func isDue(at now: ContinuousClock.Instant, isCurrent: Bool) -> Bool {
        guard let copied else { return true }
        return copied.duration(to: now) >= (isCurrent ? Self.refreshInterval : Self.interval)
    }

    mutating func noteCopy(at now: ContinuousClock.Instant) { copied = now }
}
