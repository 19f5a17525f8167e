internal import ArgumentParser
internal import Pipeline

/// What jobs that move data have in common.
struct TransferOptions: ParsableArguments {
    @Option(help: "Write a summary as JSON when the run ends.")
    var summary: String?

    @Option(help: "How long trouble is borne, the first contact included if this is given. Default: 5m.")
    var retryFor: TimeSpan?

    @Option(help: "Stop with 65 when more documents than this go wrong: N, or N% of all.")
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

    func patience(_ environment: Environment) throws(CommandFailure) -> Patience.Settings {
        var patience = Patience.Settings()
        if let span = try environment.value(retryFor, "retry-for", parse: TimeSpan.init(argument:)) {
            patience.retryFor = span.duration
            patience.waitsForFirstContact = true
        }
        return patience
    }

    func progress(_ environment: Environment, _ log: LogOptions) throws(CommandFailure) -> ProgressPacing {
        let style = try color.style(environment, of: .standardError)
        return ProgressPacing(style, isQuiet: try environment.isOn(log.quiet, "quiet"))
    }
}
