extension EmbeddedGateway {
    /// Empties the database as if it had been deleted and made again: sequences begin anew, `_local` documents and
    /// sessions are gone, waiting feeds end. Does nothing if the gateway is not running.
    ///
    /// - Throws: What SQLite refuses, such as a full disk; nothing has changed then.
    package func reset() async throws { try await router?.resetDatabase() }

    /// Goes on with other faults, or none, until the gateway is started again. What was counted is forgotten.
    package func setFaults(_ plan: FaultPlan?) {
        faults.follow(plan)
        faultClock?.restart()
    }

    /// How often each fault was done, by its name or the word for its action.
    package var faultCounts: [String: Int] { faults.counts }
}
