package import GatewayClient

/// A bot's waiting timers and passes, and what its rules remember, for display.
package struct Waiting: Sendable {
    /// A rule that waits for a time of a document.
    package struct Timer: Sendable {
        package let documentID: String
        package let rule: String
        /// In seconds since 1970.
        package let due: Int

        /// The fields of a timer in the state.
        package init(documentID: String, rule: String, due: Int) {
            self.documentID = documentID
            self.rule = rule
            self.due = due
        }
    }

    /// Rules that run over all documents at scheduled times.
    package struct Pass: Sendable {
        package let rules: [String]
        /// The cron expression and its time zone.
        package let line: String
        package let zone: String
        /// In seconds since 1970; nil if there is no next time.
        package let next: Int?
        package let isUnderWay: Bool

        /// Takes the state's facts about a schedule.
        package init(rules: [String], line: String, zone: String, next: Int?, isUnderWay: Bool) {
            self.rules = rules
            self.line = line
            self.zone = zone
            self.next = next
            self.isUnderWay = isUnderWay
        }
    }

    /// A rule that an operator has paused, or that makes up for the changes since then.
    package struct PausedRule: Sendable {
        package enum State: String, Sendable {
            /// It still fires: the bot is to take up the order.
            case pausing
            case paused
            /// It does not fire yet: the bot is to take up the order.
            case resuming
            /// It fires, and makes up for the changes that it missed.
            case catchingUp = "catching_up"
        }

        package let name: String
        package let state: State
        /// In seconds since 1970.
        package let pausedAt: Int
        /// The sequence from which on it has missed changes; nil: all of the feed.
        package let since: SequenceID?

        /// Takes the state's facts about a rule.
        package init(name: String, state: State, pausedAt: Int, since: SequenceID?) {
            (self.name, self.state, self.pausedAt, self.since) = (name, state, pausedAt, since)
        }
    }

    /// An order to apply a rule to all documents.
    package struct Backfill: Sendable {
        package enum State: String, Sendable {
            /// It has not begun, or its rule is paused.
            case waiting
            case running, done, failed
        }

        package let rule: String
        package let state: State
        /// Why it failed.
        package let problem: String?
        /// All documents that were read, those on which the rule fired or failed, and those that were written.
        package let counts: (read: Int, matched: Int, written: Int, deadLetters: Int)
        /// The number of documents in the database; nil if it is not known.
        package let expected: Int?
        /// In seconds since 1970.
        package let orderedAt: Int
        package let endedAt: Int?

        /// Takes the state's facts about a backfill.
        package init(
            rule: String, state: State, problem: String?,
            counts: (read: Int, matched: Int, written: Int, deadLetters: Int), expected: Int?, orderedAt: Int,
            endedAt: Int?
        ) {
            (self.rule, self.state, self.problem, self.counts) = (rule, state, problem, counts)
            (self.expected, self.orderedAt, self.endedAt) = (expected, orderedAt, endedAt)
        }
    }

    /// The earliest timers first; at most ``limit``.
    package var timers: [Timer] = []
    /// The number of timers.
    package var timerCount = 0
    package var passes: [Pass] = []
    /// By name.
    package var pausedRules: [PausedRule] = []
    /// By rule: those that are open, and those that have ended in the last week.
    package var backfills: [Backfill] = []
    /// The number of documents that each rule with `changed`, `enter` or `leave` remembers, by the rule's name.
    package var remembered: [String: Int] = [:]
    /// Such rules that are learning all documents now.
    package var learning: Set<String> = []
    /// The maximum number of displayed timers.
    package static let limit = 10

    /// Creates an empty list.
    package init() {}
}
