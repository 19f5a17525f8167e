internal import ArgumentParser
internal import Delivery
internal import GatewayClient
internal import Rules

/// The options of `run`, `fix` and `dead-letters retry`, in addition to ``CommonJobOptions``.
struct JobOptions: ParsableArguments {
    @Option(
        name: .shortAndLong, parsing: .upToNextOption,
        help: ArgumentHelp("Rule files, or folders of rule files.", valueName: "path"), completion: .yamlFile)
    var rules: [String] = []

    @Flag(help: "Write nothing. Show what would be written: a diff on a terminal, otherwise one JSON object per line.")
    var dryRun = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How much memory all documents in progress may use. Default: 24MiB.", valueName: "size"),
        transform: ByteSize.parse)
    var memoryBudget: ByteSize?

    /// - Throws: ``CommandError`` with 64 if no rules are given.
    func rulePaths(_ environment: Environment) throws(CommandError) -> [String] {
        guard let paths = environment.values(rules, "rules") else {
            throw CommandError(.usage, "no rules given: add --rules PATH")
        }
        return paths
    }

    /// Prints what a dry run would do; nil without `--dry-run`.
    func preview(_ common: CommonJobOptions, _ environment: Environment) throws(CommandError) -> Preview? {
        guard try environment.isOn(dryRun, "dry-run") else { return nil }
        return .onConsole(try common.style(environment, of: .standardOutput))
    }

    /// - Throws: ``CommandError`` with 64 for an invalid size.
    func memoryPool(_ environment: Environment) throws(CommandError) -> MemoryPool {
        let size = try environment.value(memoryBudget, "memory-budget", parse: ByteSize.init(argument:))
        return size.map { MemoryPool(bytes: $0.bytes) } ?? Delivery.Settings().capacity.memory
    }

    /// - Parameter memory: The memory that documents in progress may use.
    /// - Throws: ``CommandError`` with 64 for an invalid value.
    func deliverySettings(
        _ common: CommonJobOptions, _ environment: Environment, memory: MemoryPool, isDaemon: Bool
    ) throws(CommandError) -> Delivery.Settings {
        var settings = Delivery.Settings()
        settings.retries = try common.retries(environment, isDaemon: isDaemon)
        settings.capacity.memory = memory
        settings.preview = try preview(common, environment)
        settings.errorLimit = try common.errorLimit(environment)
        return settings
    }
}
