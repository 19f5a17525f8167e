/// Lets tasks run a section one after another, in the order of their requests.
package actor TaskLock {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Starts unlocked.
    package init() {}

    /// Runs `body` when no other task holds the lock. Ignores cancellation while it waits, because bodies are short.
    package nonisolated func withLock<Result: Sendable, Failure: Error>(
        _ body: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        await take()
        do throws(Failure) {
            let result = try await body()
            await give()
            return result
        } catch {
            await give()
            throw error
        }
    }

    private func take() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withNamedContinuation("a lock") { waiting.append($0) }
    }

    private func give() {
        // The lock passes directly to the next task, so that no other task can overtake it.
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
