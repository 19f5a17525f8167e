extension World {
    /// What is checked while the simulation runs.
    struct Checks {
        var writes = WriteCheck()
        var events = EventCheck()
        var edges = EdgeCheck()
        var lines = LineCheck()
        var decisions = DecisionCheck()
        var related = RelatedCheck()
        var passes = PassCheck()
        var letters = DeadLetterCheck()
        var duels = DuelCheck()
        var rates = RateCheck()
        var chains = ChainCheck()
        var doors = DoorCheck()
        var times = TimeCheck()
        var logins = LoginCheck()
        var progress = ProgressCheck()
        var repetitions = RepetitionCheck()
        /// What was lost with a machine: documents and revisions of dead letters, and timers.
        var lostLetters: Set<String> = []
        var lostTimers: Set<StateCheck.Timer> = []

        func isExcused(_ document: StoredDocument, _ revision: StoredRevision) -> Bool {
            if lostLetters.contains("\(document.id) \(revision.id)") { return true }
            return Scenario.time(of: revision).map { lostTimers.contains(StateCheck.Timer(id: document.id, due: $0)) }
                ?? false
        }

        /// The database was replaced.
        ///
        /// - Parameters:
        ///   - copy: The check when it was copied; nil for an empty database.
        ///   - uptime: The time, in nanoseconds.
        mutating func noteReset(_ gateway: SimulatedGateway, copy: WriteCheck?, at uptime: Int64) {
            noteOtherIDs()
            writes.noteReset(gateway.documents, copy: copy)
            related.noteReset(gateway)
            passes.noteReset(gateway, at: uptime)
        }

        /// Events are sent again with other ids.
        mutating func noteOtherIDs() {
            events.noteReset()
            edges.noteRestart()
            doors.noteRestart()
            lines.noteReset()
        }

        /// The gateway has lost marks.
        mutating func noteLostMarks() {
            events.noteLostMarks()
            lines.noteLostMarks()
        }
    }
}
