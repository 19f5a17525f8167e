internal import Locking

/// Prevents a refused password from being sent repeatedly: CouchDB locks an account after five refused logins in five
/// minutes, and then refuses even the right password.
///
/// One instance serves the whole process. A refused password is sent again after ten seconds, because a gateway may
/// refuse everyone while an administrator's password is being set. After that, it is sent at most twice in five
/// minutes. An accepted request clears the refusals. Other credentials are not affected.
///
/// - Note: Source: `[chttpd_auth_lockout]` of CouchDB 3.4: five failures in 300 s.
final class LoginGate: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A user and a server.
    struct Key: Hashable, Sendable {
        /// The server, without path.
        let server: String
        let credentials: GatewayCredentials
    }

    enum Admission: Equatable {
        /// Send the request.
        case go
        /// Wait: another request is about to show whether the credentials are accepted.
        case wait
        /// Send nothing. `nextAttempt` is when the credentials are sent again; nil after the second refusal.
        case hold(nextAttempt: Duration?)
    }

    /// The instance of this process.
    static let ofProcess = LoginGate()

    /// The time between the first attempt and the second one.
    private static let secondAttempt: Duration = .seconds(10)
    private static let maxRefusals = 2
    private static let memory: Duration = .seconds(300)
    /// For this long after an accepted request, requests need not wait for each other.
    private static let freshness: Duration = .seconds(10)
    /// The longest time that requests wait for the first one: a longpoll may be answered much later.
    private static let trialTimeout: Duration = .seconds(2)
    /// The interval at which a waiting request checks for admission, and the number of checks.
    static let wait: Duration = .milliseconds(20)
    static let maxWaits = 100

    private struct State {
        /// The refusals since the credentials were accepted.
        var refusals: [Instant] = []
        /// When a request was last accepted.
        var accepted: Instant?
        /// When the request that tests the credentials was sent; nil once it was answered.
        var trial: Instant?
    }

    private let states = Locked<[Key: State]>([:])

    func admit(_ key: Key, at now: Instant) -> Admission {
        states.withLock { states in
            var state = states[key] ?? State()
            state.refusals.removeAll { $0.duration(to: now) >= Self.memory }
            defer { states[key] = state }
            if state.refusals.count >= Self.maxRefusals { return .hold(nextAttempt: nil) }
            let isTried = state.trial.map { $0.duration(to: now) < Self.trialTimeout } ?? false
            if let refusal = state.refusals.last {
                let left = Self.secondAttempt - refusal.duration(to: now)
                // The second attempt is in progress, so do not give up.
                guard left <= .zero, !isTried else { return .hold(nextAttempt: max(left, .seconds(1))) }
            } else if let accepted = state.accepted, accepted.duration(to: now) < Self.freshness {
                return .go
            } else if isTried {
                return .wait
            }
            state.trial = now
            return .go
        }
    }

    /// Records that the gateway refused the credentials.
    func noteRefused(_ key: Key, at now: Instant) {
        states.withLock { states in
            var state = states[key] ?? State()
            (state.trial, state.accepted) = (nil, nil)
            state.refusals.append(now)
            states[key] = state
        }
    }

    /// Records that the gateway accepted the credentials of a request that was sent at `sent`.
    func noteAccepted(_ key: Key, sent: Instant) {
        states.withLock { states in
            var state = states[key] ?? State()
            // A late answer proves nothing about the currently valid password.
            state.refusals.removeAll { $0 < sent }
            state.trial = nil
            state.accepted = max(state.accepted ?? sent, sent)
            states[key] = state
        }
    }

    /// Records that the request ended without a verdict.
    func noteUnanswered(_ key: Key) { states.withLock { $0[key]?.trial = nil } }
}

extension GatewayError {
    /// A request that was not sent because its credentials were just refused.
    static func heldBack(at url: GatewayURL, _ credentials: GatewayCredentials, nextAttempt: Duration?) -> GatewayError
    {
        let what = if case .bearer = credentials { "token" } else { "user name or password" }
        let consequence = nextAttempt == nil ? "it was refused twice" : "it was just refused"
        var error = GatewayError(
            .unauthorized,
            "\(url): not sent: the gateway refuses this \(what), and repeated logins can lock the account; \(consequence): "
                + "correct it",
            retryAfter: nextAttempt)
        error.cause = .wrongCredentials
        error.isHeldBack = true
        return error
    }
}
