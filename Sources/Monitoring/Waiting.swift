/// What waits for its time: shown of a bot.
package struct Waiting: Sendable {
    /// A rule that waits for the time of a document.
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

    /// Rules that run over all documents at certain times.
    package struct Pass: Sendable {
        package let rules: [String]
        /// The cron line, and its time zone.
        package let line: String
        package let zone: String
        /// In seconds since 1970; nil if it never comes.
        package let next: Int?
        package let isUnderWay: Bool

        /// What the state knows of a schedule.
        package init(rules: [String], line: String, zone: String, next: Int?, isUnderWay: Bool) {
            self.rules = rules
            self.line = line
            self.zone = zone
            self.next = next
            self.isUnderWay = isUnderWay
        }
    }

    /// The earliest first; at most ``limit``.
    package var timers: [Timer] = []
    /// How many timers there are.
    package var timerCount = 0
    package var passes: [Pass] = []
    /// How many timers are shown.
    package static let limit = 10

    /// Nothing.
    package init() {}
}
