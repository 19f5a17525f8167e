internal import DocumentFlow
internal import LosslessJSON

/// Lag and throughput of the last hour, in intervals of ten seconds.
struct History: Sendable {
    static let interval: Duration = .seconds(10)
    private static let length = 360

    struct Interval: Equatable {
        var changes = 0
        var written = 0
        /// The lag at the end of the interval; nil if not known.
        var lag: Int?
    }

    /// The oldest interval comes first; the last one is the current one.
    private(set) var intervals = [Interval()]
    private var begun: ContinuousClock.Instant
    private var counters = RunCounters()

    init(now: ContinuousClock.Instant) { begun = now }

    /// Adds the counts since the last call. Not needed while the counts do not change.
    mutating func note(_ facts: RunFacts, now: ContinuousClock.Instant) {
        // After a long pause of the machine, only the last hour of intervals is needed.
        var missing = min(Int(begun.duration(to: now) / Self.interval), Self.length)
        begun = missing < Self.length ? begun + Self.interval * missing : now
        while missing > 0 {
            intervals.append(Interval(lag: intervals.last?.lag))
            missing -= 1
        }
        intervals.removeFirst(max(0, intervals.count - Self.length))
        let last = intervals.count - 1
        intervals[last].changes += max(0, facts.counters.changes - counters.changes)
        intervals[last].written += max(0, facts.counters.written - counters.written)
        intervals[last].lag = facts.lag
        counters = facts.counters
    }

    /// An array for each measure, with `null` where the lag is not known.
    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("interval_seconds", integer: Self.interval.components.seconds)
            writer.name("changes")
            writer.array { writer in for interval in intervals { writer.integer(interval.changes) } }
            writer.name("written")
            writer.array { writer in for interval in intervals { writer.integer(interval.written) } }
            writer.name("lag")
            writer.array { writer in
                for interval in intervals { if let lag = interval.lag { writer.integer(lag) } else { writer.null() } }
            }
        }
    }
}
