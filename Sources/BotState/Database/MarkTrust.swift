internal import DocumentFlow
internal import GatewayClient
internal import Locking
package import Logging

/// Whether the marks that a database shows can be relied on. One for each run, shared by all who look at the mark.
package final class MarkTrust: Sendable {
    /// Failures of requests for the mark in a row after which the run continues without it.
    private static let mostFailures = 5
    /// Resets within ``memory`` after which the marks are given up.
    private static let mostResets = 5
    private static let memory: Duration = .seconds(600)

    /// Reads may succeed while all writes fail.
    enum Request { case read, write }

    private struct State {
        /// Why the mark proves nothing; nil while it is trusted.
        var reason: String?
        var hasWarned = false
        /// Consecutive failures of requests for the mark.
        var failures: [Request: Int] = [:]
        var lastRequest = Request.read
        /// When resets were found.
        var resets: [ContinuousClock.Instant] = []
    }

    private let logger: Logger?
    private let state = Locked(State())

    /// - Parameter logger: For the one warning; nil: none.
    package init(logger: Logger? = nil) { self.logger = logger }

    /// Whether the warning says already that no reset can be detected.
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

    /// Says once that no reset can be detected.
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

    /// A request for the mark is about to be sent.
    func noteBegin(_ request: Request) { state.withLock { $0.lastRequest = request } }

    /// A request for the mark was answered.
    func noteAnswer(_ request: Request) { state.withLock { $0.failures[request] = nil } }

    /// The last request for the mark failed.
    ///
    /// - Returns: Whether requests of its kind have failed too often in a row.
    func noteFailure() -> Bool {
        state.withLock { state in
            state.failures[state.lastRequest, default: 0] += 1
            return state.failures[state.lastRequest, default: 0] >= Self.mostFailures
        }
    }

    /// A reset was found, before anything is handled again for it.
    ///
    /// - Parameter hasProgress: Whether the run has saved a checkpoint since the last reset.
    /// - Returns: Whether it is to be believed: real resets are rare, and work is done between two of them.
    func believesReset(hasProgress: Bool, at now: ContinuousClock.Instant = .now) -> Bool {
        state.withLock { state in
            state.resets.removeAll { $0.duration(to: now) >= Self.memory }
            guard state.resets.isEmpty || hasProgress, state.resets.count < Self.mostResets else { return false }
            state.resets.append(now)
            return true
        }
    }
}
