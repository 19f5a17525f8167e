internal import GatewayClient

/// How many documents a second the gateway can bear, found out from what it refuses (429, 503).
///
/// There is no limit until the first refusal. Then it is half of what was written lately. A further refusal halves it
/// again if anything was written in between: else it says nothing of the rate. Each second without one adds a quarter, and
/// once it has grown to four times the rate that was refused last there is none any more. Because of the rate nobody waits
/// longer than ten seconds for a turn; a time that the gateway sets (`Retry-After`) holds for every writer.
package struct AdaptiveRate: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The least there is, in documents a second.
    static let least = 10.0
    /// What is taken for the rate if nothing was written yet.
    private static let assumed = 1000.0
    private static let longestTurn: Duration = .seconds(10)
    private static let window: Duration = .seconds(5)

    /// Documents a second; nil: as fast as it goes.
    package private(set) var limit: Double?
    private var refusedAt = 0.0
    private var lastRefusal: Instant?
    private var hasWrittenSince = true
    private var lastGrowth: Instant?
    /// When the next write may begin, as far as the rate goes.
    private var nextTurn: Instant?
    /// What the gateway asked for: nobody writes before.
    private var heldUntil: Instant?
    private var written: [(at: Instant, documents: Int)] = []

    package init() {}

    /// When a write of so many documents may begin. It counts as begun then.
    package mutating func turn(for documents: Int, now: Instant) -> Instant {
        let earliest = max(now, heldUntil ?? now)
        let turn = max(earliest, nextTurn ?? earliest)
        nextTurn = limit.map { min(turn + .seconds(Double(documents) / $0), earliest + Self.longestTurn) }
        return turn
    }

    /// The gateway says that it is too much. Refusals within a second of each other are one: all of them were under way.
    ///
    /// - Parameter retryAfter: Nothing begins before.
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

/// The one rate of all who write to a gateway.
package actor WritePace {
    private var rate = AdaptiveRate()

    package init() {}

    func turn(for documents: Int) -> ContinuousClock.Instant { rate.turn(for: documents, now: .now) }

    /// Slows down if the gateway asks for it: 429, 503.
    func noteRefusal(_ error: GatewayError) {
        guard error.code == .tooManyRequests || error.code == .unavailable else { return }
        rate.noteRefusal(retryAfter: error.retryAfter, now: .now)
    }

    func noteWritten(_ documents: Int) { rate.noteWritten(documents, now: .now) }
}
