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

    /// The earliest timers first; at most ``limit``.
    package var timers: [Timer] = []
    /// The number of timers.
    package var timerCount = 0
    package var passes: [Pass] = []
    /// The number of documents that each rule with `changed`, `enter` or `leave` remembers, by the rule's name.
    package var remembered: [String: Int] = [:]
    /// Such rules that are learning all documents now.
    package var learning: Set<String> = []
    /// The maximum number of displayed timers.
    package static let limit = 10

    /// Creates an empty list.
    package init() {}
}
