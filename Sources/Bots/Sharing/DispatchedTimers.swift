internal import BotState

/// The due timers that were already appended to the members' log and need not be appended again.
///
/// A value without a clock: the caller passes the time. A timer stays due while its document waits, for example for a
/// receiver that is down, and must not hide later timers. So a scan normally starts where the last one ended, minus a
/// margin for records of other members that become visible late. Now and then a scan covers all timers.
struct DispatchedTimers: Sendable {
    /// How many seconds after its due time a timer may become visible.
    private static let lateness = 10
    /// A timer that did not fire is enqueued again after this time: another member's clock may be behind, or its rules
    /// older.
    private static let retry: Duration = .seconds(60)
    /// With many pending timers, the wait is at least this long for each of them.
    private static let retryPerTimer: Duration = .milliseconds(10)

    /// Recently dispatched timers, which may be read again.
    private var recent: Set<WaitingTimer> = []
    /// The time up to which all timers were scanned, in seconds since 1970. Nil: before the first scan.
    private var seenUpTo: Int?
    private var now = 0
    /// When all timers must be scanned again.
    private var nextFullScan: ContinuousClock.Instant?
    private var isFullScan = false
    private var count = 0
    private var beganAt: ContinuousClock.Instant?

    /// The time from which to scan, in seconds since 1970. Nil: all timers.
    var start: Int? { isFullScan ? nil : seenUpTo.map { min($0, now) - Self.lateness } }

    /// Begins a scan.
    ///
    /// - Parameters:
    ///   - now: Seconds since 1970, by a clock that can be set.
    ///   - instant: The same time by a monotonic clock.
    mutating func begin(now: Int, _ instant: ContinuousClock.Instant) {
        self.now = now
        beganAt = instant
        isFullScan = nextFullScan.map { $0 <= instant } ?? true
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
        if isFullScan, let beganAt { nextFullScan = beganAt + max(Self.retry, Self.retryPerTimer * count) }
    }
}
