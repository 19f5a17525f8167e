internal import BotState

/// The due timers that were already appended to the members' log and need not be appended again.
///
/// A value without a clock: the caller passes the time. A timer whose document waits, for example for a receiver that
/// is down, stays due, and must not hide later timers. So each scan starts shortly before the end of the last one,
/// because records of other members become visible late. Only occasionally a scan starts at the first timer.
struct DispatchedTimers: Sendable {
    /// The seconds after its due time within which a noted timer is seen.
    private static let lateness = 10
    /// A timer that did not fire is enqueued again after this time: another member's clock may be late, or its rules old.
    private static let retry: Duration = .seconds(60)
    /// If many timers wait, the time is this much for each of them.
    private static let retryOfEach: Duration = .milliseconds(10)

    /// Recently dispatched timers, which may be read again.
    private var recent: Set<WaitingTimer> = []
    /// The time up to which all timers were scanned, in seconds since 1970. Nil: never.
    private var seenUpTo: Int?
    private var now = 0
    /// When all timers must be scanned again.
    private var nextFullLook: ContinuousClock.Instant?
    private var isFullLook = false
    private var count = 0
    private var beganAt: ContinuousClock.Instant?

    /// The time from which to scan, in seconds since 1970. Nil: all timers.
    var start: Int? { isFullLook ? nil : seenUpTo.map { min($0, now) - Self.lateness } }

    /// Begins a scan.
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

    /// The timers that were not dispatched recently.
    func new(among due: [WaitingTimer]) -> [WaitingTimer] { due.filter { !recent.contains($0) } }

    /// Notes dispatched timers.
    mutating func note(_ due: [WaitingTimer]) {
        count += due.count
        recent.formUnion(due.filter { $0.due >= now - 2 * Self.lateness })
    }

    /// Ends the scan.
    mutating func end() {
        seenUpTo = now
        recent = recent.filter { $0.due >= now - 2 * Self.lateness }
        if isFullLook, let beganAt { nextFullLook = beganAt + max(Self.retry, Self.retryOfEach * count) }
    }
}
