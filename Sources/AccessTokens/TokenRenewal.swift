/// Decides when a token is renewed. A value without a clock: the caller passes the time.
///
/// A token is renewed once four fifths of its lifetime have passed, or five minutes before its end if that is later.
/// Until it ends, it is used, even while its renewal fails. After a failure, no request is sent before the back-off has
/// passed. A refused token is renewed once; if new tokens are refused again and again, they are requested less and less
/// often. A token that was accepted before is renewed at most once a minute because it is refused.
struct TokenRenewal: Sendable {
    typealias Instant = ContinuousClock.Instant

    enum Step: Equatable {
        /// Use this token.
        case use(AccessToken)
        /// Use this token, and start to renew it.
        case useAndRenew(AccessToken)
        /// Request a token, and wait for it.
        case request
        /// No request is sent before this time. The last error says why.
        case hold(until: Instant)
    }

    private struct Held {
        let token: AccessToken
        let received: Instant
        let lifetime: Duration?
        var isRefused = false

        var end: Instant? { lifetime.map { received + $0 } }
        var renewal: Instant? {
            lifetime.map { received + max($0 * 0.8, $0 - TokenRenewal.maxMargin) }
        }
    }

    /// The longest time before a token's end at which it is renewed.
    static let maxMargin: Duration = .seconds(300)
    /// A token is used at least for this time, whatever its lifetime.
    static let minLifetime: Duration = .seconds(1)
    /// How often tokens that were accepted before are renewed because they are refused.
    private static let refusalInterval: Duration = .seconds(60)
    /// The first and the longest wait after a failure.
    private static let backoff: (first: Duration, longest: Duration) = (.seconds(1), .seconds(60))

    private var held: Held?
    private var number = 0
    /// Failed requests since the last token.
    private var failures = 0
    /// No request is sent before this time. Nil: it may be sent at once.
    private(set) var due: Instant?
    /// How many tokens in a row were refused, and never accepted.
    private var refusals = 0
    /// When a token that had been accepted was last renewed because it was refused.
    private var acceptedRefusal: Instant?
    /// Between 0 and 1.
    private let random: @Sendable () -> Double

    init(random: @escaping @Sendable () -> Double = { .random(in: 0...1) }) { self.random = random }

    /// Whether there is a token that has not ended and was not refused.
    func hasToken(now: Instant) -> Bool {
        guard let held, !held.isRefused else { return false }
        return held.end.map { now < $0 } ?? true
    }

    func step(now: Instant) -> Step {
        let isHeld = due.map { now < $0 } ?? false
        if let held, hasToken(now: now) {
            let isDue = held.renewal.map { now >= $0 } ?? false
            return isDue && !isHeld ? .useAndRenew(held.token) : .use(held.token)
        }
        if let due, isHeld { return .hold(until: due) }
        return .request
    }

    /// Notes a new token.
    mutating func succeed(_ answer: TokenAnswer, now: Instant) -> AccessToken {
        // The former token reached its renewal.
        if let held, !held.isRefused { refusals = 0 }
        number += 1
        let token = AccessToken(text: answer.text, number: number)
        held = Held(token: token, received: now, lifetime: answer.lifetime.map { max($0, Self.minLifetime) })
        (failures, due) = (0, nil)
        return token
    }

    /// Notes a failed request.
    mutating func fail(retryAfter: Duration?, now: Instant) {
        failures += 1
        due = now + max(wait(failures), retryAfter ?? .zero)
    }

    /// Notes that a server refused a token (401).
    ///
    /// - Parameter isAccepted: Whether a server has accepted it before. Then the refusal may have another cause, such as
    ///   a missing database.
    /// - Returns: Whether there is, or soon will be, another token to try.
    mutating func refuse(_ token: AccessToken, isAccepted: Bool, now: Instant) -> Bool {
        guard var held, held.token.number == token.number, !held.isRefused else { return true }
        if isAccepted {
            let isDue = held.renewal.map { now >= $0 } ?? false
            let isFrequent = acceptedRefusal.map { $0.duration(to: now) < Self.refusalInterval } ?? false
            guard isDue || !isFrequent else { return false }
            acceptedRefusal = now
            refusals = 0
        }
        refusals += 1
        held.isRefused = true
        self.held = held
        guard refusals > 1 else { return true }
        due = max(due ?? now, now + wait(refusals))
        return false
    }

    /// Full jitter in the upper half of a growing limit.
    private func wait(_ count: Int) -> Duration {
        let limit = Self.backoff.first * Double(1 << min(count - 1, 6))
        return min(limit, Self.backoff.longest) * (0.5 + random() / 2)
    }
}
