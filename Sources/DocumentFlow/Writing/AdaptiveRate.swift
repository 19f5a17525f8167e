internal import GatewayClient

/// The number of documents per second that the gateway can take, learned from its refusals (429, 502, 503, 504, 524).
///
/// There is no limit until the first refusal. Then the limit is half of the recent rate.
/// - A further refusal halves the limit again if anything was written in between.
/// - Each second without a refusal raises it by a quarter.
/// - Above four times the last refused rate, it is lifted.
///
/// The limit alone delays a write by at most ten seconds. A `Retry-After` applies to all writers.
package struct AdaptiveRate: Sendable {
    /// Passed in by the caller; this type has no clock.
    package typealias Instant = ContinuousClock.Instant

    /// The lowest limit, in documents per second.
    static let minRate = 10.0
    /// The assumed rate before the first write.
    private static let assumedRate = 1000.0
    private static let maxDelay: Duration = .seconds(10)
    private static let window: Duration = .seconds(5)

    /// Documents per second. Nil without a limit.
    package private(set) var limit: Double?
    private var refusedRate = 0.0
    private var lastRefusal: Instant?
    private var hasWrittenSince = true
    private var lastIncrease: Instant?
    /// The earliest time of the next write under ``limit``.
    private var nextWriteTime: Instant?
    /// The end of a `Retry-After`. No write begins before it.
    private var pausedUntil: Instant?
    private var written: [(at: Instant, documents: Int)] = []

    /// No limit yet.
    package init() {}

    /// Reserves and returns the time at which a write of this number of documents may begin.
    package mutating func reserveTime(for documents: Int, now: Instant) -> Instant {
        let earliest = max(now, pausedUntil ?? now)
        let time = max(earliest, nextWriteTime ?? earliest)
        nextWriteTime = limit.map { min(time + .seconds(Double(documents) / $0), earliest + Self.maxDelay) }
        return time
    }

    /// Records a refusal of a write because of overload. Refusals within a second count once, because the requests were
    /// in flight together.
    ///
    /// - Parameter retryAfter: No write begins before this time has passed.
    package mutating func noteRefusal(retryAfter: Duration? = nil, now: Instant) {
        if let retryAfter { pausedUntil = max(pausedUntil ?? now, now + retryAfter) }
        if let lastRefusal, lastRefusal.duration(to: now) < .seconds(1) { return }
        lastRefusal = now
        lastIncrease = now
        guard hasWrittenSince else { return }
        hasWrittenSince = false
        refusedRate = limit ?? recentRate(now)
        limit = max(Self.minRate, refusedRate / 2)
        nextWriteTime = max(nextWriteTime ?? now, now + .seconds(1))
    }

    /// Records an accepted write: the limit may grow or be lifted.
    package mutating func noteWritten(_ documents: Int, now: Instant) {
        written.removeAll { $0.at.duration(to: now) > Self.window }
        written.append((now, documents))
        hasWrittenSince = true
        grow(now)
    }

    private mutating func grow(_ now: Instant) {
        guard let limit, let lastIncrease else { return }
        let seconds = lastIncrease.duration(to: now) / .seconds(1)
        guard seconds >= 1 else { return }
        self.lastIncrease = now
        let grown = limit * (1 + seconds / 4)
        self.limit = grown > refusedRate * 4 ? nil : grown
        if self.limit == nil { nextWriteTime = nil }
    }

    private func recentRate(_ now: Instant) -> Double {
        let recent = written.filter { $0.at.duration(to: now) <= Self.window }
        let documents = recent.reduce(0) { $0 + $1.documents }
        guard documents > 0, let first = recent.first?.at else { return Self.assumedRate }
        return max(Self.minRate, Double(documents) / max(1, first.duration(to: now) / .seconds(1)))
    }
}

/// The write rate, shared by all writers to one gateway.
package actor WritePace {
    private var rate = AdaptiveRate()
    /// The bytes of the largest request for documents that was accepted.
    private(set) var largestWritten = 0

    /// No limit yet.
    package init() {}

    func reserveTime(for documents: Int) -> ContinuousClock.Instant { rate.reserveTime(for: documents, now: .now) }

    /// Slows down on `.tooManyRequests` and `.unavailable` (429, 502, 503, 504, 524). Ignores other errors.
    func noteRefusal(_ error: GatewayError) {
        guard error.code == .tooManyRequests || error.code == .unavailable else { return }
        rate.noteRefusal(retryAfter: error.retryAfter, now: .now)
    }

    /// Documents per second. Nil without a limit.
    package var limit: Double? { rate.limit }

    /// - Parameter bytes: The bytes of the documents.
    func noteWritten(_ documents: Int, bytes: Int) {
        rate.noteWritten(documents, now: .now)
        largestWritten = max(largestWritten, bytes)
    }
}
