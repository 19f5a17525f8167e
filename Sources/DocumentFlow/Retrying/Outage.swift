package import GatewayClient
internal import Locking
package import Logging

/// A period in which the gateway was unreachable or unavailable. Shared by all tasks of a run, so that its beginning
/// and end are logged once.
package final class Outage: Sendable {
    /// The outage in progress.
    package struct Status: Sendable, Equatable {
        /// When its first request failed.
        package let began: ContinuousClock.Instant
        /// The last error, for users.
        package let reason: String
        /// The time of the next attempt.
        package let nextAttempt: ContinuousClock.Instant
    }

    private struct State {
        var status: Status?
        var loggedAt: ContinuousClock.Instant?
    }

    /// The interval at which a long outage is logged again.
    private static let reminderInterval: Duration = .seconds(60)
    /// The end of a shorter outage is not logged, if it affected one of many requests.
    package static let shortest: Duration = .seconds(1)

    private let state = Locked(State())

    /// No outage yet.
    package init() {}

    /// The current outage. Nil if the gateway answers.
    package var status: Status? { state.withLock(\.status) }

    /// Records a failed request that will be sent again.
    ///
    /// - Parameters:
    ///   - wait: The time until the next attempt.
    ///   - stopsAll: Whether the run can do nothing else until the request succeeds: an outage, whatever the error.
    /// - Returns: Whether to log the failure. False if this outage was logged recently.
    package func note(
        _ error: GatewayError, wait: Duration = .zero, stopsAll: Bool = false, now: ContinuousClock.Instant = .now
    ) -> Bool {
        state.withLock { state in
            guard stopsAll || error.isConnectionError || state.status != nil && error.mayBeFromOtherServer else {
                return true
            }
            state.status = Status(
                began: state.status?.began ?? now, reason: "\(error)", nextAttempt: now + wait)
            if let loggedAt = state.loggedAt, loggedAt.duration(to: now) < Self.reminderInterval { return false }
            state.loggedAt = now
            return true
        }
    }

    /// Records a success: ends the outage and logs its length.
    ///
    /// - Parameter span: The end of a shorter outage is not logged.
    package func end(_ logger: Logger, ifLongerThan span: Duration = .zero, now: ContinuousClock.Instant = .now) {
        let began = state.withLock { state in
            let began = state.status?.began
            state = State()
            return began
        }
        guard let began, began.duration(to: now) >= span else { return }
        logger.notice("reached the gateway again after \(Self.text(began.duration(to: now)))")
    }

    /// `0.4 s`, `32 s`.
    private static func text(_ span: Duration) -> String {
        let tenths = Int((span / .milliseconds(100)).rounded())
        return tenths < 100 ? "\(tenths / 10).\(tenths % 10) s" : "\((tenths + 5) / 10) s"
    }
}

extension GatewayError {
    /// The gateway is unreachable or unavailable for all requests: the error is not about this request.
    fileprivate var isConnectionError: Bool {
        switch code {
        case .cannotConnect, .connectionLost, .timedOut, .unavailable: true
        default: false
        }
    }

    /// A response of another server in place of the gateway, such as a proxy. The error may also be about this request.
    fileprivate var mayBeFromOtherServer: Bool { code == .malformedAnswer || code == .unauthorized }
}
