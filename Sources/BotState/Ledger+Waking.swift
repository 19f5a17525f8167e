// How a run notices what commands have left in its state.
extension Ledger {
    /// Wakes the run that uses this state.
    func wakeRun() {
        if let path = lockPath { LockFileWatch.touch(path) }
    }

    /// Calls `body` now, and again whenever a command may have changed the state: at once for a state in a file, within
    /// two seconds for one in an engine. Returns when `body` returns false.
    ///
    /// - Throws: `CancellationError`, what `body` throws.
    package func whileOrdered(_ body: () async throws -> Bool) async throws {
        // A file is watched; an engine is asked.
        try await LockFileWatch.whileTouched(lockPath, every: .seconds(2), body)
    }
}
