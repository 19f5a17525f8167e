internal import ArgumentParser
internal import Pipeline

/// What all jobs have in common, those by rules and those that move data.
struct CommonJobOptions: ParsableArguments {
    @Option(help: "Write a summary as JSON when the run ends.")
    var summary: String?

    @Option(help: "How long a one-shot run bears trouble, the first contact included if this is given. Default: 5m.")
    var retryFor: TimeSpan?

    @Option(
        help:
            "Stop with 65 when more documents than this go wrong: N, or N% (of those that rules fired on, or of all that are moved)."
    )
    var maxErrors: ErrorLimit?

    @Option(help: "How long a stopping run may take to finish what is under way. Default: 30s.")
    var shutdownGrace: TimeSpan?

    @OptionGroup var color: ColorOption

    func summaryPath(_ environment: Environment) -> String? { summary ?? environment["summary"] }

    func grace(_ environment: Environment) throws(CommandFailure) -> Duration {
        try environment.value(shutdownGrace, "shutdown-grace", parse: TimeSpan.init(argument:))?.duration
            ?? .seconds(30)
    }

    func errorLimit(_ environment: Environment) throws(CommandFailure) -> ErrorLimit? {
        try environment.value(maxErrors, "max-errors", parse: { ErrorLimit($0) })
    }

    func patience(
        _ environment: Environment, isDaemon: Bool = false
    ) throws(CommandFailure) -> Patience.Settings {
        var patience = try environment.patience(retryFor: retryFor)
        patience.isDaemon = isDaemon
        return patience
    }

    func progress(_ environment: Environment, _ log: LogOptions) throws(CommandFailure) -> ProgressPacing {
        let style = try color.style(environment, of: .standardError)
        return ProgressPacing(style, isQuiet: try environment.isOn(log.quiet, "quiet"))
    }
}

extension Environment {
    /// What `--retry-for` asks for.
    func patience(retryFor: TimeSpan?) throws(CommandFailure) -> Patience.Settings {
        var patience = Patience.Settings()
        if let span = try value(retryFor, "retry-for", parse: TimeSpan.init(argument:)) {
            patience.retryFor = span.duration
            patience.waitsForFirstContact = true
        }
        return patience
    }
}

extension ErrorLimit: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}
