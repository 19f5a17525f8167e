internal import Locking

/// Counts refused commits of one handle to a log: their lease was void, or another commit came first.
package final class FencedCommits: Sendable {
    private let number = Locked(0)

    /// Starts at zero.
    package init() {}

    /// Since the handle was opened.
    package var count: Int { number.withLock { $0 } }

    /// Runs a commit, and counts it if it is refused.
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
