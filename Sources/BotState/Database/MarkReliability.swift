internal import DocumentFlow
internal import GatewayClient
internal import Locking
package import Logging

/// Whether the marks of a database are reliable. One for each run, shared by all users of the mark.
package final class MarkReliability: Sendable {
    /// After this many consecutive failed requests for the mark, the run continues without it.
    private static let maxFailures = 5
    /// After this many resets within ``memory``, the marks are given up. Of resets that only the mark shows, one is
    /// enough.
    private static let maxResets = 5
    private static let memory: Duration = .seconds(600)

    /// Reads may succeed while all writes fail.
    enum Request { case read, write }

    private struct State {
        /// Why the mark is unreliable; nil while it is trusted.
        var reason: String?
        var hasWarned = false
        /// Consecutive failures of requests for the mark.
        var failures: [Request: Int] = [:]
        var lastRequest = Request.read
        /// When resets were detected.
        var resets: [ContinuousClock.Instant] = []
        /// When the lost mark was last written again.
        var rewritten: ContinuousClock.Instant?
    }

    private let logger: Logger?
    private let state = Locked(State())

    /// - Parameter logger: For the one warning; nil: none.
    package init(logger: Logger? = nil) { self.logger = logger }

    /// Whether the run has already warned that resets can't be detected.
    package var hasWarned: Bool { state.withLock(\.hasWarned) }

    /// - Throws: `.notOffered` once the mark is given up.
    func check(_ url: GatewayURL) throws(GatewayError) {
        if let reason = state.withLock(\.reason) { throw Self.refusal(url, reason) }
    }

    static func refusal(_ url: GatewayURL, _ reason: String) -> GatewayError {
        GatewayError(.notOffered, "\(url): \(reason)")
    }

    /// For the rest of the run, the mark is neither read nor written.
    func giveUp(_ reason: String) {
        state.withLock { $0.reason = $0.reason ?? reason }
        warn(reason)
    }

    /// Warns once that resets can't be detected.
    func warn(_ reason: String) {
        let isNew = state.withLock { state in
            defer { state.hasWarned = true }
            return !state.hasWarned
        }
        guard isNew else { return }
        logger?.warning(
            "the database does not keep the bot's mark; continuing without it: a reset of the database can't be detected",
            metadata: [LogKey.reason: "\(reason)"])
    }

    /// Notes that a request for the mark is about to be sent.
    func noteSending(_ request: Request) { state.withLock { $0.lastRequest = request } }

    /// Notes that a request for the mark was answered.
    func noteAnswer(_ request: Request) { state.withLock { $0.failures[request] = nil } }

    /// Notes that the last request for the mark failed.
    ///
    /// - Returns: Whether too many consecutive requests of its kind have failed.
    func noteFailure() -> Bool {
        state.withLock { state in
            state.failures[state.lastRequest, default: 0] += 1
            return state.failures[state.lastRequest, default: 0] >= Self.maxFailures
        }
    }

    /// Notes that the mark of a database that is otherwise unchanged is about to be written again.
    ///
    /// - Returns: Whether to write it: false if it was lost again within ``memory``.
    func mayRewrite(at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            if let last = state.rewritten, last.duration(to: now) < Self.memory { return false }
            state.rewritten = now
            return true
        }
    }

    /// What supports a reset that the mark shows.
    enum Evidence {
        /// Only the mark, and nothing new was read since the last reset.
        case none
        /// Only the mark; there were new changes since the last reset, if any.
        case progress
        /// The database has another start time, or fewer changes than were read.
        case otherDatabase
    }

    /// Notes a detected reset, before anything is processed again.
    ///
    /// - Returns: Whether the reset is credible: real resets are rare, and rarely shown by the mark alone.
    func isCredibleReset(_ evidence: Evidence, at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            state.resets.removeAll { $0.duration(to: now) >= Self.memory }
            let most =
                switch evidence {
                case .none: 0
                case .progress: 1
                case .otherDatabase: Self.maxResets
                }
            guard state.resets.count < most else { return false }
            state.resets.append(now)
            return true
        }
    }
}
