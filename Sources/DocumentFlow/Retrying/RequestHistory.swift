internal import GatewayClient
internal import Locking

/// The results of the requests of one kind, such as for attachments.
package struct RequestHistory: Sendable {
    /// Why a request failed.
    private struct Reason: Equatable {
        let code: GatewayError.Code
        let status: Int?

        init(_ error: GatewayError) { (code, status) = (error.code, error.status) }
    }

    /// If this number of consecutive requests is given up for the same reason, all requests of the kind are assumed to
    /// fail.
    private static let maxGivenUp = 4

    /// Requests that succeeded.
    package private(set) var successes = 0
    /// When the first request failed since the last success.
    private var failingSince: ContinuousClock.Instant?
    /// Requests given up for the same reason since the last success.
    private var givenUp = 0
    private var reason: Reason?

    /// No request yet.
    package init() {}

    /// Records a success: failures of other requests are then their own problem.
    package mutating func noteSuccess() {
        successes += 1
        forgetFailures()
    }

    private mutating func forgetFailures() { (failingSince, givenUp, reason) = (nil, 0, nil) }

    mutating func noteFailure(now: ContinuousClock.Instant) { failingSince = failingSince ?? now }

    /// Records an outage: earlier failures are then irrelevant.
    mutating func noteOutage() { forgetFailures() }

    mutating func noteGivenUp(_ error: GatewayError) {
        let reason = Reason(error)
        givenUp = reason == self.reason ? givenUp + 1 : 1
        self.reason = reason
    }

    /// Whether all requests of this kind seem to fail with this error.
    func allRequestsFail(with error: GatewayError) -> Bool { givenUp >= Self.maxGivenUp && reason == Reason(error) }

    /// How long requests of this kind have failed without a success.
    func timeWithoutSuccess(now: ContinuousClock.Instant) -> Duration { failingSince?.duration(to: now) ?? .zero }
}

/// The history of one kind of request, shared by the tasks that send them.
package final class SharedHistory: Sendable {
    private let locked = Locked(RequestHistory())

    /// No request yet.
    package init() {}

    /// Records a success.
    package func noteSuccess() { locked.withLock { $0.noteSuccess() } }

    /// Reads or changes the history.
    package func with<Result>(_ body: (inout RequestHistory) -> Result) -> Result { locked.withLock(body) }
}
