internal import Logging

/// Decides when progress is shown, and in which form.
struct ProgressPacing: Sendable {
    enum Form: Sendable, Equatable {
        /// One line on a terminal, which is redrawn in place.
        case redrawn
        /// A new line now and then.
        case lines
        /// A log line in JSON now and then.
        case json
        case none
    }

    let form: Form
    /// When progress was last shown, as time since the start of the job; nil before the first time.
    private var shownAt: Duration?

    init(_ form: Form) { self.form = form }

    /// - Parameters:
    ///   - style: The style of stderr.
    ///   - level: The lowest level that is logged. Progress is shown at `info`.
    ///   - format: The format of log lines. With JSON, lines are never redrawn.
    init(
        _ style: TerminalStyle, isQuiet: Bool, level: Logger.Level = .info, format: StandardErrorLog.Format = .chosen
    ) {
        let isRedrawn = style.canRedraw && format != .json
        let isHidden = isQuiet || level > .info && !isRedrawn
        self.init(isHidden ? .none : format == .json ? .json : isRedrawn ? .redrawn : .lines)
    }

    /// The time between two lines, or between two redraws.
    var interval: Duration { form == .redrawn ? .milliseconds(100) : .seconds(5) }

    /// Whether to show progress now. A terminal shows it immediately, a log file only for long jobs.
    mutating func isDue(at elapsed: Duration) -> Bool {
        guard form != .none else { return false }
        let last = shownAt ?? (form == .redrawn ? elapsed - interval : .zero)
        guard elapsed - last >= interval else { return false }
        shownAt = elapsed
        return true
    }
}
