internal import Logging

/// When progress is shown, and in which form.
struct ProgressPacing: Sendable {
    enum Form: Sendable, Equatable {
        /// One line that is drawn again and again, on a terminal.
        case redrawn
        /// A line now and then, one below the other.
        case lines
        /// The same as log lines in JSON.
        case json
        case none
    }

    let form: Form
    /// When it was shown last, by the job's own clock.
    private var shownAt: Duration?

    init(_ form: Form) { self.form = form }

    /// - Parameters:
    ///   - style: Of stderr.
    ///   - level: The lowest that is logged: lines of progress are `info`.
    ///   - format: Of log lines. Nothing is redrawn between lines of JSON.
    init(
        _ style: TerminalStyle, isQuiet: Bool, level: Logger.Level = .info, format: StandardErrorLog.Format = .chosen
    ) {
        let isRedrawn = style.canRedraw && format != .json
        let isHidden = isQuiet || level > .info && !isRedrawn
        self.init(isHidden ? .none : format == .json ? .json : isRedrawn ? .redrawn : .lines)
    }

    private var interval: Duration { form == .redrawn ? .milliseconds(100) : .seconds(5) }

    /// Whether to show progress now. A terminal shows it at once; a log file only for long jobs.
    mutating func isDue(at elapsed: Duration) -> Bool {
        guard form != .none else { return false }
        let last = shownAt ?? (form == .redrawn ? elapsed - interval : .zero)
        guard elapsed - last >= interval else { return false }
        shownAt = elapsed
        return true
    }
}
