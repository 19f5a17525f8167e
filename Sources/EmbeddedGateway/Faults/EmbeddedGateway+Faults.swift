extension EmbeddedGateway {
    /// Empties the database as if it had been deleted and created again: sequences restart, `_local` documents and
    /// sessions are lost, and waiting feeds end. Does nothing if the gateway is not running.
    ///
    /// - Throws: SQLite's errors, such as a full disk. Then nothing has changed.
    package func reset() async throws { try await router?.resetDatabase() }

    /// Replaces the faults (nil: none) until the gateway is restarted. Counts and times start over.
    package func setFaults(_ plan: FaultPlan?) {
        faults.follow(plan)
        faultClock?.restart()
    }

    /// How often each fault has occurred, by its name, or by the name of its action if it has none.
    package var faultCounts: [String: Int] { faults.counts }
}
