internal import GatewayClient

/// How many documents a second the gateway can take, learned from its refusals (429, 502, 503,
/// 504, 524).
///
/// There is no limit until the first refusal; then it is half of the recent rate. A further refusal halves it again if
/// anything was written in between. Each second without a refusal adds a quarter. Above four times the rate that was
/// refused last, the limit is lifted. The limit alone delays a write by at most ten seconds. A `Retry-After` holds for
/// all writers.
package struct AdaptiveRate: Sendable {
    /// Passed in by the caller: there is no clock in here.
    package typealias Instant = ContinuousClock.Instant

    /// The lowest limit, in documents a second.
    static let least = 10.0
    /// The assumed rate if nothing was written yet.
    private static let assumed = 1000.0
    private static let longestTurn: Duration = .seconds(10)
    private static let window: Duration = .seconds(5)

    /// Documents a second; nil: no limit.
    package private(set) var limit: Double?
    private var refusedAt = 0.0
    private var lastRefusal: Instant?
    private var hasWrittenSince = true
    private var lastGrowth: Instant?
    /// The earliest time for the next write under ``limit``.
    private var nextTurn: Instant?
    /// The end of a `Retry-After`: nobody writes before.
    private var heldUntil: Instant?
    private var written: [(at: Instant, documents: Int)] = []

    /// No limit yet.
    package init() {}

    /// When a write of this many documents may begin. The time is then taken.
    package mutating func turn(for documents: Int, now: Instant) -> Instant {
        let earliest = max(now, heldUntil ?? now)
        let turn = max(earliest, nextTurn ?? earliest)
        nextTurn = limit.map { min(turn + .seconds(Double(documents) / $0), earliest + Self.longestTurn) }
        return turn
    }

    /// The gateway refused a write as too much. Refusals within a second count once: those requests were under way
    /// together.
    ///
    /// - Parameter retryAfter: No write begins before it has passed.
    package mutating func noteRefusal(retryAfter: Duration? = nil, now: Instant) {
        if let retryAfter { heldUntil = max(heldUntil ?? now, now + retryAfter) }
        if let lastRefusal, lastRefusal.duration(to: now) < .seconds(1) { return }
        lastRefusal = now
        lastGrowth = now
        guard hasWrittenSince else { return }
        hasWrittenSince = false
        refusedAt = limit ?? recentRate(now)
        limit = max(Self.least, refusedAt / 2)
        nextTurn = max(nextTurn ?? now, now + .seconds(1))
    }

    /// The gateway accepted a write: the limit may grow or be lifted.
    package mutating func noteWritten(_ documents: Int, now: Instant) {
        written.removeAll { $0.at.duration(to: now) > Self.window }
        written.append((now, documents))
        hasWrittenSince = true
        grow(now)
    }

    private mutating func grow(_ now: Instant) {
        guard let limit, let lastGrowth else { return }
        let seconds = lastGrowth.duration(to: now) / .seconds(1)
        guard seconds >= 1 else { return }
        self.lastGrowth = now
        let grown = limit * (1 + seconds / 4)
        self.limit = grown > refusedAt * 4 ? nil : grown
        if self.limit == nil { nextTurn = nil }
    }

    private func recentRate(_ now: Instant) -> Double {
        let recent = written.filter { $0.at.duration(to: now) <= Self.window }
        let documents = recent.reduce(0) { $0 + $1.documents }
        guard documents > 0, let first = recent.first?.at else { return Self.assumed }
        return max(Self.least, Double(documents) / max(1, first.duration(to: now) / .seconds(1)))
    }
}

/// The rate that all writers to one gateway share.
package actor WritePace {
    private var rate = AdaptiveRate()

    /// No limit yet.
    package init() {}

    func turn(for documents: Int) -> ContinuousClock.Instant { rate.turn(for: documents, now: .now) }

    /// Slows down on `.tooManyRequests` and `.unavailable` (429, 502, 503, 504, 524); ignores other errors.
    func noteRefusal(_ error: GatewayError) {
        guard error.code == .tooManyRequests || error.code == .unavailable else { return }
        rate.noteRefusal(retryAfter: error.retryAfter, now: .now)
    }

    /// Documents a second; nil: no limit.
    package var limit: Double? { rate.limit }

    func noteWritten(_ documents: Int) { rate.noteWritten(documents, now: .now) }
}
