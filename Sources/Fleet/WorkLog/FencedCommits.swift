internal import Locking

/// How many commits of a handle to a log were refused, because their lease is void or another commit came between.
package final class FencedCommits: Sendable {
    private let number = Locked(0)

    /// None yet.
    package init() {}

    /// Since the handle was opened.
    package var count: Int { number.withLock { $0 } }

    /// Makes a commit, and counts it if it is refused.
    package func counting<Result: Sendable>(
        _ commit: () async throws(WorkLogError) -> Result
    ) async throws(WorkLogError) -> Result {
        do throws(WorkLogError) {
            return try await commit()
        } catch {
            if case .fenced = error { number.withLock { $0 += 1 } }
            throw error
        }
    }
}
