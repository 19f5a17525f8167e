// What administrators do with the state of a fleet.
extension SimulatedFleet {
    /// The database was replaced: the members have ended. As `changebot fleet reset` does.
    func beginAgain() {
        whileStopped { [self] in
            world.story.tell("world", "the fleet is reset")
            engine?.forgetEverything()
            trouble?.dropCopies()
        }
    }

    /// Call it before the state is replaced. What an older state does not have is recorded again, unless that state is
    /// lost, too: the copy of the checkpoint in the database may be newer.
    func rememberRecords() {
        guard let state = engine?.state else { return }
        records.timers.formUnion(state.timers())
        records.letters.formUnion(state.deadLetters().map { "\($0.id) \($0.revision)" })
    }

    /// The engine is lost, and the members begin with an empty one, at the copy of the checkpoint in the database.
    func loseState() {
        guard let engine else { return }
        trouble?.dropCopies()
        // Events have other ids, and dead letters and timers are lost.
        world.checks.noteOtherIDs()
        rememberRecords()
        world.checks.lostTimers.formUnion(records.timers)
        world.checks.lostLetters.formUnion(records.letters)
        whileStopped { engine.forgetEverything() }
    }
}
