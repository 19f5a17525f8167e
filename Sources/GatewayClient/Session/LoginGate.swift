internal import Locking

/// Prevents a refused password from being sent repeatedly: CouchDB locks an account after five refused logins in five
/// minutes, and then refuses even the right password.
///
/// One instance serves the whole process. Unless the credentials were accepted a moment ago, one request tests them, and
/// all others wait for its answer. A refused password is sent again after ten seconds, because a gateway may refuse
/// everyone while an administrator's password is being set. After that, it is sent at most twice in five minutes. An
/// accepted request clears the refusals. Other credentials are not affected.
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

    /// One request with credentials.
    struct Attempt: Sendable {
        private static let count = Locked(0)

        let key: Key
        fileprivate let number: Int

        init(_ key: Key) {
            self.key = key
            number = Self.count.withLock { count in
                count += 1
                return count
            }
        }
    }

    enum Admission: Equatable {
        /// Send the request: the credentials were accepted a moment ago.
        case go
        /// Send the request: it tests the credentials.
        case probe
        /// Wait: another request is about to show whether the credentials are accepted.
        case wait
        /// Send nothing. `nextAttempt` is when the credentials are sent again; nil after the second refusal.
        case hold(nextAttempt: Duration?)
    }

    /// The instance of this process.
    static let shared = LoginGate()

    /// The time between the first attempt and the second one.
    private static let secondAttempt: Duration = .seconds(10)
    private static let maxRefusals = 2
    private static let memory: Duration = .seconds(300)
    /// For this long after an accepted request, requests need not wait for each other.
    private static let freshness: Duration = .seconds(1)
    /// After this time without an answer, one more request is sent: the first one may be a large upload.
    private static let trialTimeout: Duration = .seconds(2)
    /// After this time without an answer, a request no longer counts as a test: gateways refuse credentials at once.
    private static let maxTrialTime: Duration = .seconds(10)
    /// The interval at which a waiting request checks for admission.
    static let wait: Duration = .milliseconds(10)

    private struct State {
        /// The refusals since the credentials were accepted.
        var refusals: [Instant] = []
        /// When the credentials were last known to be accepted.
        var accepted: Instant?
        /// The unanswered requests that test the credentials, by number, and when they were sent.
        var trials: [Int: Instant] = [:]

        mutating func forgetOld(at now: Instant) {
            refusals.removeAll { $0.duration(to: now) >= LoginGate.memory }
            trials = trials.filter { $0.value.duration(to: now) < LoginGate.maxTrialTime }
        }

        func admission(at now: Instant) -> Admission {
            if refusals.count >= LoginGate.maxRefusals { return .hold(nextAttempt: nil) }
            if let refusal = refusals.last {
                let left = LoginGate.secondAttempt - refusal.duration(to: now)
                // The second attempt is in progress, so do not give up.
                return left <= .zero && trials.isEmpty ? .probe : .hold(nextAttempt: max(left, .seconds(1)))
            }
            if let accepted, accepted.duration(to: now) < LoginGate.freshness { return .go }
            guard let newest = trials.values.max() else { return .probe }
            let mayRepeat = trials.count < LoginGate.maxRefusals && newest.duration(to: now) >= LoginGate.trialTimeout
            return mayRepeat ? .probe : .wait
        }
    }

    private let states = Locked<[Key: State]>([:])

    func admit(_ attempt: Attempt, at now: Instant) -> Admission {
        states.withLock { states in
            states[attempt.key, default: State()].forgetOld(at: now)
            let admission = states[attempt.key, default: State()].admission(at: now)
            if admission == .probe { states[attempt.key]?.trials[attempt.number] = now }
            return admission
        }
    }

    /// Records that the gateway refused the credentials.
    func noteRefused(_ attempt: Attempt, at now: Instant) {
        end(attempt) { state in
            state.accepted = nil
            state.refusals.append(now)
        }
    }

    /// Records that the gateway accepted the credentials.
    ///
    /// - Parameters:
    ///   - sent: When the request was sent.
    ///   - proof: The time at which the answer shows that they are valid: for a longpoll, when it was sent.
    func noteAccepted(_ attempt: Attempt, sent: Instant, proof: Instant) {
        end(attempt) { state in
            // A late answer proves nothing about the currently valid password.
            state.refusals.removeAll { $0 < sent }
            state.accepted = max(state.accepted ?? proof, proof)
        }
    }

    /// Records that the request ended without a verdict.
    func noteUnanswered(_ attempt: Attempt) { end(attempt) { _ in } }

    private func end(_ attempt: Attempt, _ change: (inout State) -> Void) {
        states.withLock { states in
            states[attempt.key, default: State()].trials[attempt.number] = nil
            change(&states[attempt.key, default: State()])
        }
    }
}

extension GatewayError {
    /// A request that was not sent because its credentials were just refused.
    static func heldBack(at url: GatewayURL, _ credentials: GatewayCredentials, nextAttempt: Duration?) -> GatewayError
    {
        let what = if case .bearer = credentials { "token" } else { "user name or password" }
        let refusal = nextAttempt == nil ? "has refused this \(what) twice" : "has just refused this \(what)"
        var error = GatewayError(
            .unauthorized,
            "\(url): not sent: the gateway \(refusal), and repeated logins can lock the account; correct it",
            retryAfter: nextAttempt)
        error.cause = .wrongCredentials
        error.isHeldBack = true
        return error
    }
}
