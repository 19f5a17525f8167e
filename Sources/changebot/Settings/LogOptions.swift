internal import ArgumentParser
internal import Logging

/// The options for logs.
struct LogOptions: ParsableArguments {
    @Option(help: "The format of output on stderr. Default: text.")
    var logFormat: StandardErrorLog.Format?

    @Option(
        help: ArgumentHelp(
            "The minimum log level: trace, debug, info, notice, warning, error or critical. Default: info.",
            valueName: "level"),
        completion: .list(Logger.Level.allCases.map(\.rawValue)),
        transform: { text throws(InvalidValue) in
            guard let level = Logger.Level(rawValue: text) else {
                throw InvalidValue(expected: Environment.names(of: Logger.Level.self))
            }
            return level
        })
    var logLevel: Logger.Level?

    @Flag(
        name: .shortAndLong,
        help: "Write nothing to stderr except the reason for a failure. A daemon also names its dead letters.")
    var quiet = false

    static let defaultLevel = Logger.Level.info

    /// - Parameter isDaemon: Whether the command runs until it is asked to stop. If so, it logs errors even with
    ///   `--quiet`; other commands report at the end why they fail.
    func logger(
        _ environment: Environment, default: Logger.Level = Self.defaultLevel, isDaemon: Bool = false
    ) throws(CommandError) -> Logger {
        let format = try environment.value(logFormat, "log-format", parse: StandardErrorLog.Format.init(rawValue:))
        let level = try level(environment)
        let isQuiet = try environment.isOn(quiet, "quiet")
        let handler = StandardErrorLog(
            format: format ?? .default, logLevel: isQuiet ? isDaemon ? .error : .critical : level ?? `default`)
        return Logger(label: "changebot") { _ in handler }
    }

    /// The given log level, even with `--quiet`; nil if none is given.
    private func level(_ environment: Environment) throws(CommandError) -> Logger.Level? {
        try environment.value(logLevel, "log-level", parse: Logger.Level.init(rawValue:))
    }

    /// How progress is shown on stderr.
    ///
    /// - Parameter style: The style of stderr.
    func progress(_ environment: Environment, _ style: TerminalStyle) throws(CommandError) -> ProgressPacing {
        ProgressPacing(
            style, isQuiet: try environment.isOn(quiet, "quiet"), level: try level(environment) ?? Self.defaultLevel)
    }
}

/// The log options of commands that print notes instead of logs, such as those for states and rule files.
struct NoteOptions: ParsableArguments {
    /// Only for the help: ``StandardErrorLog/Format/chosen`` has already read the value.
    @Option(help: "The format of output on stderr. Default: text.")
    var logFormat: StandardErrorLog.Format?

    @Flag(name: .shortAndLong, help: "Write nothing to stderr except the reason for a failure.")
    var quiet = false

    /// Prints a note on stderr, unless `--quiet` is set.
    func note(_ text: String, _ environment: Environment = Environment()) throws(CommandError) {
        if try !isQuiet(environment) { Console.complain(text) }
    }

    /// Whether to write nothing to stderr except the reason for a failure.
    func isQuiet(_ environment: Environment = Environment()) throws(CommandError) -> Bool {
        try environment.isOn(quiet, "quiet")
    }
}

extension StandardErrorLog.Format: ExpressibleByArgument {}
