internal import DocumentFlow
internal import Logging

/// Decides what a running bot logs about its progress: one line per minute while it has work.
struct ProgressLog {
    struct Message {
        let text: String
        let metadata: Logger.Metadata
    }

    private static let interval: Duration = .seconds(60)

    private var loggedAt: ContinuousClock.Instant
    private var counters = RunCounters()

    init(now: ContinuousClock.Instant) { loggedAt = now }

    /// Nil if there is nothing to log now.
    mutating func message(_ facts: RunFacts, now: ContinuousClock.Instant) -> Message? {
        let span = loggedAt.duration(to: now)
        guard span >= Self.interval else { return nil }
        let changes = facts.counters.changes - counters.changes
        defer { (loggedAt, counters) = (now, facts.counters) }
        guard changes > 0 || facts.behindSince != nil, facts.outage == nil, facts.phase != .connecting else {
            return nil
        }
        let rate = Double(changes) / (span / .seconds(1))
        var metadata: Logger.Metadata = [
            "looked_at": "\(facts.counters.changes)", "written": "\(facts.counters.written)",
            "changes_per_second": "\((rate * 10).rounded() / 10)",
        ]
        if let lag = facts.lag { metadata["lag"] = "\(lag)" }
        return Message(text: "at work", metadata: metadata)
    }
}
