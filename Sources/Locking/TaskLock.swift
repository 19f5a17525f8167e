/// Lets tasks do something one after the other, in the order in which they asked.
package actor TaskLock {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    /// Free.
    package init() {}

    /// Runs `body` once nobody else is in one. Ignores cancellation while it waits: whoever is in one leaves it soon.
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
        await withCheckedContinuation { waiting.append($0) }
    }

    private func give() {
        // Whoever is next has it at once, so that nobody can overtake.
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
