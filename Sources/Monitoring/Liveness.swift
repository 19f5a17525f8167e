package import DocumentFlow
package import Locking

/// Determines from the bot's own tasks whether it is alive. The watchdog of systemd is notified only while it is.
///
/// A timer would prove nothing. A sign of life is a finished feed request, a batch that was read, decided, written or
/// settled, or a retried request after a bounded wait.
package final class Liveness: Sendable {
    /// Not wall-clock time: a suspended machine must not find its bots silent.
    package typealias Instant = SuspendingClock.Instant

    /// How long a bot may go without a sign of life while changes are pending. That is six times the limit for a bulk
    /// write, and more than endless jq programs of several rules may take for one batch.
    package static let maxWorkSilence: Duration = .seconds(1800)

    private struct Signs {
        /// Last sign of the task that reads the feed.
        var feed: Instant
        /// Last sign of the tasks that decide and write.
        var work: Instant
        var hasBegun = false
    }

    private let signs: Locked<Signs>
    private let maxFeedTime: Duration
    /// Raised at the first sign, when the bot has a gateway and a state or waits for the gateway. Also raised whenever
    /// its phase has changed or a checkpoint was saved.
    package let changed = Signal()

    /// - Parameter maxFeedTime: How long a bot that waits for changes may go without a sign of life. Must exceed the
    ///   time limit of a feed request.
    package init(maxFeedTime: Duration, now: Instant = .now) {
        self.maxFeedTime = maxFeedTime
        signs = Locked(Signs(feed: now, work: now))
    }

    /// Called for each event of the run.
    package func note(_ event: RunEvent, now: Instant = .now) {
        let hasChanged = signs.withLock { signs in
            var hasChanged = !signs.hasBegun
            signs.hasBegun = true
            switch event {
            case .counted(let difference):
                if difference.changes > 0 { signs.feed = max(signs.feed, now) }
                if difference.hasWorkProgress { signs.work = max(signs.work, now) }
            case .retried(_, let wait):
                signs.feed = max(signs.feed, now + wait)
                signs.work = max(signs.work, now + wait)
            case .wrote, .deadLettered, .decided, .sent, .settled, .timersFired: signs.work = max(signs.work, now)
            case .progressed:
                signs.feed = max(signs.feed, now)
                hasChanged = true
            }
            return hasChanged
        }
        if hasChanged { changed.raise() }
    }

    /// Call for each finished request. Only feed requests are signs of life: the check of the database's mark continues
    /// even if the bot hangs.
    ///
    /// - Parameter target: Path and query.
    package func noteRequest(_ target: String, now: Instant = .now) {
        guard target.contains("/_changes") else { return }
        signs.withLock { $0.feed = max($0.feed, now) }
    }

    /// Why the bot seems to hang, for the user; nil if it is alive.
    ///
    /// - Parameter facts: The current status of the run.
    package func silence(_ facts: RunFacts, now: Instant = .now) -> String? {
        let signs = signs.withLock { $0 }
        let last = max(signs.feed, signs.work)
        switch (facts.phase, isPending: facts.behindSince != nil) {
        case (.onStandby, _), (.drained, _): return nil
        case (.following, isPending: false):
            return Self.text(last, now, maxFeedTime, "its request for changes got no answer")
        case (.following, isPending: true):
            // The feed continues even if a writer hangs. A new change has not been waiting since the last sign.
            let pending = facts.behindSince?.duration(to: .now) ?? .zero
            let sign = max(signs.work, now - pending, Self.attempt(facts, now) ?? signs.work)
            return Self.text(sign, now, Self.maxWorkSilence, "pending changes are neither decided nor written")
        default:
            let sign = max(last, Self.attempt(facts, now) ?? last)
            return Self.text(sign, now, Self.maxWorkSilence, "nothing was read, decided or written")
        }
    }

    /// The next or last due attempt at a receiver that is down; nil if none is down. The wait may be as long as the
    /// receiver requests: up to an hour.
    private static func attempt(_ facts: RunFacts, _ now: Instant) -> Instant? {
        facts.receivers.map { now - $0.status.nextAttempt.duration(to: .now) }.max()
    }

    private static func text(_ sign: Instant, _ now: Instant, _ limit: Duration, _ what: String) -> String? {
        let span = sign.duration(to: now)
        return span < limit ? nil : "\(what) for \(span.components.seconds) s"
    }
}

extension RunCounters {
    /// Whether anything except reading was counted.
    fileprivate var hasWorkProgress: Bool {
        matched + written + preview.written + unchanged + conflicts + rejected + deadLetters + traffic.writeRequests > 0
    }
}
