internal import ArgumentParser
internal import GatewayClient
internal import Pipeline
internal import Rules

/// What `run` and `fix` have in common.
struct JobOptions: ParsableArguments {
    @Option(name: .long, parsing: .upToNextOption, help: "Rule files, or folders of them.")
    var rules: [String] = []

    @Flag(help: "Write nothing; show what would be written: as a diff on a terminal, else one JSON object a line.")
    var dryRun = false

    @Option(help: "Write a summary as JSON when the run ends.")
    var summary: String?

    @Option(help: "How long a one-shot run bears trouble, the first contact included if this is given. Default: 5m.")
    var retryFor: TimeSpan?

    @Option(help: "Stop with 65 when more documents than this are set aside: N, or N% of those that rules fired on.")
    var maxErrors: ErrorLimit?

    @Option(help: "Documents on their way at once. Default: 24MiB.")
    var memoryBudget: ByteSize?

    @Option(help: "How long a stopping run may take to finish what is under way. Default: 30s.")
    var shutdownGrace: TimeSpan?

    @OptionGroup var color: ColorOption

    /// - Throws: ``CommandFailure`` with 64.
    func rulePaths(_ environment: Environment) throws(CommandFailure) -> [String] {
        let paths = rules.isEmpty ? environment["rules"].map { [$0] } ?? [] : rules
        guard !paths.isEmpty else { throw CommandFailure(.usage, "no rules given: add --rules PATH") }
        return paths
    }

    func summaryPath(_ environment: Environment) -> String? { summary ?? environment["summary"] }

    /// Where a dry run shows what it would do; nil if this is none.
    func preview(_ environment: Environment) throws(CommandFailure) -> Preview? {
        guard try environment.isOn(dryRun, "dry-run") else { return nil }
        return .onConsole(try color.style(environment, of: .standardOutput))
    }

    func grace(_ environment: Environment) throws(CommandFailure) -> Duration {
        try environment.value(shutdownGrace, "shutdown-grace", parse: TimeSpan.init(argument:))?.duration
            ?? .seconds(30)
    }

    /// - Throws: ``CommandFailure`` with 64.
    func deliverySettings(
        _ environment: Environment, isDaemon: Bool
    ) throws(CommandFailure) -> Delivery.Settings {
        var settings = Delivery.Settings()
        settings.patience.isDaemon = isDaemon
        if let span = try environment.value(retryFor, "retry-for", parse: TimeSpan.init(argument:)) {
            settings.patience.retryFor = span.duration
            settings.patience.waitsForFirstContact = true
        }
        if let size = try environment.value(memoryBudget, "memory-budget", parse: ByteSize.init(argument:)) {
            settings.memoryBudget = size.bytes
        }
        settings.preview = try preview(environment)
        settings.errorLimit = try environment.value(maxErrors, "max-errors", parse: { ErrorLimit($0) })
        return settings
    }
}

extension ErrorLimit: ExpressibleByArgument {
    init?(argument: String) { self.init(argument) }
}
