internal import Glibc
internal import Locking

/// How fast a webhook receiver or an attachment server answers. Decides which requests wait in the queue, and which are
/// deferred to a later time.
///
/// A value without a clock: the caller passes the time. For a fast receiver all requests wait in the queue. For a slow one
/// the waiting changes would fill the memory, and no others would be read. So a request that would wait for more than
/// ``maxWait`` is deferred, each to a different time.
struct ReceiverPace: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// The longest expected wait in the queue.
    static let maxWait: Duration = .seconds(1)
    /// A request that was deferred before may wait longer by this factor, because its retry time was an estimate.
    private static let returningFactor = 2
    /// Deferred requests retry after this time at the latest, because the receiver may be fast again by then.
    private static let maxDelay: Duration = .seconds(5)
    /// If many requests are deferred, the longest delay is this time for each of them.
    private static let delayPerRequest: Duration = .milliseconds(10)
    /// Retry times are rounded up to multiples of this many seconds, so that documents are read together.
    private static let retryGrid = 0.5
    /// The weight of the newest answer in ``typicalTime``.
    private static let weight = 0.125

    /// Concurrent requests.
    private let places: Int
    /// The geometric mean of recent response times, of which one hanging request changes little. Its logarithm is stored.
    /// Nil: no request has ended.
    private var typicalTime: Double?
    /// When the requests in flight began.
    private var begun: [Instant] = []
    /// How many deferred requests retry in each second from ``start`` on.
    private var retries: [Int: Int] = [:]
    private var deferredCount = 0
    private let start: Instant
    /// A random number in 0..<1.
    private let random: @Sendable () -> Double

    init(places: Int, now: Instant = .now, random: @escaping @Sendable () -> Double = { SystemRandom.fraction() }) {
        self.places = places
        start = now
        self.random = random
    }

    mutating func begin(now: Instant) { begun.append(now) }

    /// - Parameter start: When the request that has ended now began.
    mutating func end(start: Instant, now: Instant) {
        if let index = begun.firstIndex(of: start) { begun.remove(at: index) }
        let time = log(max(start.duration(to: now) / .seconds(1), 0.001))
        typicalTime = typicalTime.map { $0 + (time - $0) * Self.weight } ?? time
    }

    /// Whether a request usually takes at least this time, or all places are taken by requests that do.
    ///
    /// - Parameter waiting: How many requests are ahead in the queue.
    func isSlower(than time: Duration, waiting: Int, now: Instant) -> Bool {
        let seconds = time / .seconds(1)
        if let typicalTime, exp(typicalTime) >= seconds { return true }
        if let interval = interval(now), interval * Double(waiting) >= seconds { return true }
        return begun.count >= places && begun.allSatisfy { $0.duration(to: now) >= time }
    }

    /// How many requests may wait in the queue: at least as many as may be in flight.
    ///
    /// - Parameter isReturning: Whether the request was deferred before.
    mutating func queueLimit(isReturning: Bool, now: Instant) -> Int {
        guard let interval = interval(now) else { return .max }
        forgetRetried(now)
        let longest = Self.maxWait * (isReturning ? Self.returningFactor : 1) / .seconds(1)
        // Deferred requests go first.
        if !isReturning, Double(deferredCount) * interval > longest { return 0 }
        return max(places, Int(min(longest / interval, 1e6)))
    }

    /// Defers a request.
    ///
    /// - Returns: When to try again.
    mutating func deferRequest(now: Instant) -> Instant {
        forgetRetried(now)
        deferredCount += 1
        let expected = Self.maxWait + .seconds((interval(now) ?? 0) * Double(deferredCount))
        let longest = max(Self.maxDelay, Self.delayPerRequest * deferredCount)
        // Jitter, so that they do not retry all at once.
        let delay = expected <= longest ? expected : longest * (0.5 + random() / 2)
        let time = (start.duration(to: now + delay) / .seconds(1) / Self.retryGrid).rounded(.up)
        let retry = start + .seconds(time * Self.retryGrid)
        retries[second(retry), default: 0] += 1
        return retry
    }

    private mutating func forgetRetried(_ now: Instant) {
        let second = second(now)
        for (past, count) in retries where past < second {
            deferredCount -= count
            retries[past] = nil
        }
    }

    private func second(_ instant: Instant) -> Int { Int(start.duration(to: instant).components.seconds) }

    /// The expected seconds between two free places. Nil if no request has been sent.
    func interval(_ now: Instant) -> Double? {
        let typicalTime = typicalTime.map { exp($0) }
        // A request in flight takes at least as long as it has taken so far.
        let times = begun.map { max(typicalTime ?? 0, $0.duration(to: now) / .seconds(1)) }
        let free = typicalTime.map { Double(places - min(places, times.count)) / $0 } ?? 0
        let rate = times.reduce(free) { $0 + ($1 > 0 ? 1 / $1 : .infinity) }
        return rate > 0 && rate.isFinite ? 1 / rate : nil
    }
}
