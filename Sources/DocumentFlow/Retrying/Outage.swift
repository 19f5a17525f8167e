package import GatewayClient
internal import Locking
package import Logging

/// A time in which the gateway could not be reached, or did not do what it was asked to: one for all tasks of a run, so
/// that its beginning and its end are told once.
package final class Outage: Sendable {
    private struct State {
        var began: ContinuousClock.Instant?
        var toldAt: ContinuousClock.Instant?
    }

    /// A long outage is told again after this time.
    private static let reminder: Duration = .seconds(60)
    /// Among many requests, one that fails and succeeds sooner than this is not worth a line.
    package static let shortest: Duration = .seconds(1)

    private let state = Locked(State())

    package init() {}

    /// A request failed and will be sent again.
    ///
    /// - Parameter stopsAll: The run can do nothing else until it succeeds: an outage, whatever the error.
    /// - Returns: Whether to tell. False if the outage has been told already.
    package func note(_ error: GatewayError, stopsAll: Bool = false, now: ContinuousClock.Instant = .now) -> Bool {
        guard stopsAll || error.isOfConnection else { return true }
        return state.withLock { state in
            state.began = state.began ?? now
            if error.isOfConnection, let toldAt = state.toldAt, toldAt.duration(to: now) < Self.reminder {
                return false
            }
            state.toldAt = now
            return true
        }
    }

    /// A request succeeded.
    ///
    /// - Parameter span: An outage shorter than this ends without a word.
    package func end(_ logger: Logger, tellingFrom span: Duration = .zero, now: ContinuousClock.Instant = .now) {
        let began = state.withLock { state in
            let began = state.began
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
    /// The gateway was not reached, or answers nobody: it says nothing of this request.
    fileprivate var isOfConnection: Bool {
        switch code {
        case .cannotConnect, .connectionLost, .timedOut, .unavailable: true
        default: false
        }
    }
}
