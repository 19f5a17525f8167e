internal import Locking

/// The newest evaluation of each open page. Older ones are abandoned.
final class LatestRequests: Sendable {
    /// The maximum number of pages that are remembered.
    private static let pageLimit = 32

    private struct State {
        var latest: [String: Int] = [:]
        var count = 0
    }

    private let state = Locked(State())

    /// Begins an evaluation, and so ends the earlier ones of the page.
    func begin(_ page: String) -> Int {
        state.withLock { state in
            state.count += 1
            state.latest[page] = state.count
            if state.latest.count > Self.pageLimit, let oldest = state.latest.min(by: { $0.value < $1.value }) {
                state.latest[oldest.key] = nil
            }
            return state.count
        }
    }

    func isLatest(_ number: Int, of page: String) -> Bool { state.withLock { $0.latest[page] == number } }
}
