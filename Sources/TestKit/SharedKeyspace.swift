/// Who uses the keyspace of a real server: many tests that keep to documents of their own, or one that needs it alone.
///
/// Fair: who has come first begins first, and those who share begin together.
package actor SharedKeyspace {
    /// The one that `CHANGEBOT_TEST_GATEWAY` names, for all suites of the process.
    package static let ofTests = SharedKeyspace()

    private enum Use { case together, alone }

    private var users = 0
    private var isAlone = false
    private var waiting: [(use: Use, continuation: CheckedContinuation<Void, Never>)] = []

    package init() {}

    package nonisolated func together<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await use(.together, body)
    }

    package nonisolated func alone<Result>(_ body: () async throws -> Result) async rethrows -> Result {
        try await use(.alone, body)
    }

    /// Waiting uses, for tests.
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
        await withCheckedContinuation { waiting.append((use, $0)) }
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
