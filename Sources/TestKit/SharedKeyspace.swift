/// A read-write lock for the keyspace of a real server: shared by tests that use only their own documents, exclusive
/// for a test that needs all of it.
///
/// Granted in order of arrival; consecutive shared users run together. Waiting does not count towards a test's time
/// limit.
package actor SharedKeyspace {
    /// The lock on the keyspace in `CHANGEBOT_TEST_GATEWAY`, for all suites of the process.
    package static let ofTests = SharedKeyspace()

    private enum Use { case together, alone }

    private var users = 0
    private var isAlone = false
    private var waiting: [(use: Use, continuation: CheckedContinuation<Void, Never>)] = []

    /// Creates an unused lock.
    package init() {}

    /// Runs `body` concurrently with other `together` calls, when no `alone` call runs or waits ahead of it.
    /// Cancellation does not end the wait.
    package nonisolated func together<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await use(.together, body)
    }

    /// Runs `body` while no other call runs. Cancellation does not end the wait.
    package nonisolated func alone<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await use(.alone, body)
    }

    /// The number of waiting calls; for tests of this type.
    package var waitingCount: Int { waiting.count }

    private nonisolated func use<Result>(_ use: Use, _ body: () async throws -> Result) async rethrows -> Result {
        await begin(use)
        do {
            let result = try await body()
            await end()
            return result
        } catch {
            await end()
            throw error
        }
    }

    private func begin(_ use: Use) async {
        guard !waiting.isEmpty || !isFree(for: use) else { return enter(use) }
        let time = TestTime.current
        time?.beginWait()
        await withCheckedContinuation { waiting.append((use, $0)) }
        time?.endWait()
    }

    private func end() {
        users -= 1
        isAlone = false
        while let next = waiting.first, isFree(for: next.use) {
            waiting.removeFirst()
            enter(next.use)
            next.continuation.resume()
        }
    }

    private func isFree(for use: Use) -> Bool { users == 0 || use == .together && !isAlone }

    private func enter(_ use: Use) {
        users += 1
        isAlone = use == .alone
    }
}
