internal import ArgumentParser
internal import Logging

/// What is logged, and how.
struct LogOptions: ParsableArguments {
    @Option(help: "text or json.")
    var logFormat: StandardErrorLog.Format?

    @Option(help: "trace, debug, info, notice, warning, error or critical.")
    var logLevel: String?

    @Flag(help: "Only errors.")
    var quiet = false

    func logger(_ environment: Environment, default: Logger.Level = .info) throws(CommandFailure) -> Logger {
        let format = try environment.value(logFormat, "log-format", parse: StandardErrorLog.Format.init(rawValue:))
        let level = try environment.parsed(logLevel, "log-level", parse: Logger.Level.init(rawValue:))
        let isQuiet = try environment.isOn(quiet, "quiet")
        let handler = StandardErrorLog(format: format ?? .text, logLevel: isQuiet ? .error : level ?? `default`)
        return Logger(label: "changebot") { _ in handler }
    }
}

extension StandardErrorLog.Format: ExpressibleByArgument {}
