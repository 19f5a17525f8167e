/// Checks that the bot does not write a document too often, however often an app answers.
struct RateCheck {
    /// In a minute: thirty in a row, and thirty more. Then some whose answers were lost, or of other rules.
    private static let limit = 80
    private static let minute: Int64 = 60_000_000_000

    private var process = 0
    private var times: [Int64] = []

    /// Other rules are taken up.
    mutating func noteOtherRules() { times = [] }

    /// - Parameter uptime: The time, in nanoseconds.
    /// - Throws: ``Violation``.
    mutating func note(by process: Int, at uptime: Int64) throws {
        if process != self.process { (self.process, times) = (process, []) }
        times = times.filter { $0 > uptime - Self.minute } + [uptime]
        guard times.count > Self.limit else { return }
        throw Violation(
            guarantee: .rate, detail: "bot \(process) has written \(Scenario.debate) \(times.count) times in a minute")
    }
}
