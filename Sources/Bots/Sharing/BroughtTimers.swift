internal import BotState

/// Which of the times that have come were brought to the members, and need not be brought again.
///
/// A value without a clock: the caller passes the time. A time that waits for something, such as a receiver that is down,
/// stays due. It must not hide those that come after it. So each look begins a little before the end of the last one, since
/// what another member has noted shows late. Only now and then a look begins at the first time.
struct BroughtTimers: Sendable {
    /// The seconds after its due time within which a noted timer is seen.
    private static let lateness = 10
    /// A timer that did not fire is enqueued again after this time: another member's clock may be late, or its rules old.
    private static let retry: Duration = .seconds(60)
    /// If many wait, the time is this much for each of them.
    private static let retryOfEach: Duration = .milliseconds(10)

    /// Those that were brought and may be read again, each with its time.
    private var recent: Set<WaitingTimer> = []
    /// Up to when all were looked at, in seconds since 1970. Nil: never.
    private var seenUpTo: Int?
    private var now = 0
    /// When all are to be looked at again.
    private var nextFullLook: ContinuousClock.Instant?
    private var isFullLook = false
    private var count = 0
    private var beganAt: ContinuousClock.Instant?

    /// From which time on to look, in seconds since 1970. Nil: at all.
    var start: Int? { isFullLook ? nil : seenUpTo.map { min($0, now) - Self.lateness } }

    /// Begins a look.
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970, by a clock that may be set.
    ///   - instant: The same by one that can't.
    mutating func begin(now: Int, _ instant: ContinuousClock.Instant) {
        self.now = now
        beganAt = instant
        isFullLook = nextFullLook.map { $0 <= instant } ?? true
        count = 0
    }

    /// Those that no look has brought a short time ago.
    func new(among due: [WaitingTimer]) -> [WaitingTimer] { due.filter { !recent.contains($0) } }

    /// They have been brought.
    mutating func note(_ due: [WaitingTimer]) {
        count += due.count
        recent.formUnion(due.filter { $0.due >= now - 2 * Self.lateness })
    }

    /// The look has reached its end.
    mutating func end() {
        seenUpTo = now
        recent = recent.filter { $0.due >= now - 2 * Self.lateness }
        if isFullLook, let beganAt { nextFullLook = beganAt + max(Self.retry, Self.retryOfEach * count) }
    }
}
