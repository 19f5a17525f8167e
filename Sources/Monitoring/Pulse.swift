package import DocumentFlow
package import Locking

/// Tells whether a bot is alive, by what its own tasks report: the watchdog of systemd is fed only while it is.
///
/// No timer proves anything here. A sign is a request for the feed that has ended, a batch that was read, decided,
/// written or settled, or a request that is sent again after a wait that has an end.
package final class Pulse: Sendable {
    /// Not the wall clock's time: a machine that was suspended must not find its bots silent.
    package typealias Instant = SuspendingClock.Instant

    /// How long a bot may go without a sign while changes are pending: six times the time that a bulk write may take, and
    /// more than jq programs of several rules that never end may take for one batch.
    package static let longestWork: Duration = .seconds(1800)

    private struct Signs {
        /// Of the task that reads the feed.
        var feed: Instant
        /// Of those that decide and write.
        var work: Instant
        var hasBegun = false
    }

    private let signs: Locked<Signs>
    private let longestFeed: Duration
    /// Raised at the first sign, when the bot has a gateway and a state or waits for the gateway, and whenever its phase
    /// has changed or a checkpoint was saved.
    package let news = Signal()

    /// - Parameter longestFeed: How long a bot that waits for changes may go without a sign. Must be longer than a
    ///   request for the feed may stay open.
    package init(longestFeed: Duration, now: Instant = .now) {
        self.longestFeed = longestFeed
        signs = Locked(Signs(feed: now, work: now))
    }

    /// Called for each event of the run.
    package func note(_ event: RunEvent, now: Instant = .now) {
        let isNews = signs.withLock { signs in
            var isNews = !signs.hasBegun
            signs.hasBegun = true
            switch event {
            case .counted(let difference):
                if difference.changes > 0 { signs.feed = max(signs.feed, now) }
                if difference.isOfWork { signs.work = max(signs.work, now) }
            case .retried(_, let wait):
                signs.feed = max(signs.feed, now + wait)
                signs.work = max(signs.work, now + wait)
            case .wrote, .deadLettered, .decided, .sent, .settled, .timersFired: signs.work = max(signs.work, now)
            case .progressed:
                signs.feed = max(signs.feed, now)
                isNews = true
            }
            return isNews
        }
        if isNews { news.raise() }
    }

    /// Called for each request that has ended. Only those for the feed are signs: the check of the database's mark goes
    /// on in a bot that hangs.
    ///
    /// - Parameter target: Path and query.
    package func noteRequest(_ target: String, now: Instant = .now) {
        guard target.contains("/_changes") else { return }
        signs.withLock { $0.feed = max($0.feed, now) }
    }

    /// Why the bot seems to hang, for people; nil if it is alive.
    ///
    /// - Parameter facts: Where the run stands now.
    package func silence(_ facts: RunFacts, now: Instant = .now) -> String? {
        let signs = signs.withLock { $0 }
        let last = max(signs.feed, signs.work)
        switch (facts.phase, isPending: facts.behindSince != nil) {
        case (.standingBy, _), (.drained, _): return nil
        case (.following, isPending: false):
            return Self.text(last, now, longestFeed, "its request for changes got no answer")
        case (.following, isPending: true):
            // The feed goes on beside a writer that hangs. A change that has just come waits for no longer than that.
            let pending = facts.behindSince?.duration(to: .now) ?? .zero
            let sign = max(signs.work, now - pending, Self.attempt(facts, now) ?? signs.work)
            return Self.text(sign, now, Self.longestWork, "pending changes are neither decided nor written")
        default:
            let sign = max(last, Self.attempt(facts, now) ?? last)
            return Self.text(sign, now, Self.longestWork, "nothing was read, decided or written")
        }
    }

    /// When an attempt was due at a receiver that is down, or is due; nil if none is down. Such a wait may be as long as
    /// the receiver asks for: an hour.
    private static func attempt(_ facts: RunFacts, _ now: Instant) -> Instant? {
        facts.receivers.map { now - $0.status.nextAttempt.duration(to: .now) }.max()
    }

    private static func text(_ sign: Instant, _ now: Instant, _ limit: Duration, _ what: String) -> String? {
        let span = sign.duration(to: now)
        return span < limit ? nil : "\(what) for \(span.components.seconds) s"
    }
}

extension RunCounters {
    /// Whether something else than reading was counted.
    fileprivate var isOfWork: Bool {
        matched + written + shown + unchanged + conflicts + rejected + deadLetters + writeRequests > 0
    }
}
