internal import ArgumentParser
internal import DocumentFlow

/// The options of all jobs, such as `run`, `fix`, `export` and `replicate`.
struct CommonJobOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Write a summary as JSON when the run ends.", valueName: "file"), completion: .file())
    var summary: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long a one-shot job retries while the gateway fails. If given, it also retries the first contact. Default: 5m.",
            valueName: "duration"), transform: TimeSpan.parse)
    var retryFor: TimeSpan?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Stop with exit code 65 when more documents than this fail: a number, or a percentage of the documents on which rules fired, or that are exported, imported, replicated or resolved.",
            valueName: "n|n%"), transform: ErrorLimit.parse)
    var maxErrors: ErrorLimit?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long a run may take to finish its work in progress when it is asked to stop. Default: 30s.",
            valueName: "duration"), transform: TimeSpan.parse)
    var shutdownGrace: TimeSpan?

    @Option(help: ColorOption.help)
    var color: TerminalStyle.Choice?

    func summaryPath(_ environment: Environment) -> String? { summary ?? environment["summary"] }

    func grace(_ environment: Environment) throws(CommandError) -> Duration {
        try environment.value(shutdownGrace, "shutdown-grace", parse: TimeSpan.init(argument:))?.duration
            ?? StoppableService.defaultGrace
    }

    func errorLimit(_ environment: Environment) throws(CommandError) -> ErrorLimit? {
        try environment.value(maxErrors, "max-errors", parse: ErrorLimit.init(argument:))
    }

    func retries(
        _ environment: Environment, isDaemon: Bool = false
    ) throws(CommandError) -> RetryPolicy.Settings {
        var retries = try environment.retries(retryFor: retryFor)
        retries.isDaemon = isDaemon
        return retries
    }

    /// - Throws: ``CommandError`` with 64.
    func style(
        _ environment: Environment, of stream: TerminalStyle.Stream
    ) throws(CommandError) -> TerminalStyle {
        try ColorOption.style(color, environment, of: stream)
    }

    func progress(_ environment: Environment, _ log: LogOptions) throws(CommandError) -> ProgressPacing {
        try log.progress(environment, style(environment, of: .standardError))
    }
}

extension Environment {
    /// The settings for retries, from `--retry-for`.
    func retries(retryFor: TimeSpan?) throws(CommandError) -> RetryPolicy.Settings {
        var retries = RetryPolicy.Settings()
        if let span = try value(retryFor, "retry-for", parse: TimeSpan.init(argument:)) {
            retries.retryFor = span.duration
            retries.waitsForFirstContact = true
        }
        return retries
    }
}
