internal import ArgumentParser
internal import Foundation
internal import GatewayClient
internal import Logging
internal import Pipeline
internal import Rules
internal import ServiceLifecycle
internal import Worker

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Follow a changes feed and do what the rules say.",
        discussion: "Example: changebot run --gateway http://127.0.0.1:4985/todo --rules rules/attach-images.yaml")

    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var log: LogOptions

    @Option(name: .long, parsing: .upToNextOption, help: "Rule files, or folders of them.")
    var rules: [String] = []

    @Flag(help: "Work off what the feed holds now, then end.")
    var once = false

    @Option(help: "Where to start if there is no checkpoint: 0, now or a sequence. Default: 0.")
    var since: String?

    @Option(help: "Write a summary as JSON when the run ends.")
    var summary: String?

    @Option(help: "How long a one-shot run bears trouble, the first contact included if this is given. Default: 5m.")
    var retryFor: TimeSpan?

    @Option(help: "Documents on their way at once. Default: 24MiB.")
    var memoryBudget: ByteSize?

    @Option(help: "How long a stopping run may take to finish what is under way. Default: 30s.")
    var shutdownGrace: TimeSpan?

    func run() async throws {
        let report = RunReport()
        let environment = Environment()
        var failure: CommandFailure?
        do { try await work(environment, report) } catch { failure = CommandFailure(error) }
        if failure == nil, try environment.isOn(once, "once"), await report.counters().deadLetters > 0 {
            failure = CommandFailure(.incomplete)
        }
        if let path = summary ?? environment["summary"] {
            let summary = await report.summary(exitCode: (failure?.code ?? .done).rawValue)
            do throws(CommandFailure) { try OutputFile.write(summary.json, to: path) } catch {
                // The run's own failure, if there is one, is the one to end with.
                if failure != nil, let message = error.message { Console.error(message) }
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func work(_ environment: Environment, _ report: RunReport) async throws {
        let logger = try log.logger(environment)
        let paths = rules.isEmpty ? environment["rules"].map { [$0] } ?? [] : rules
        guard !paths.isEmpty else { throw CommandFailure(.usage, "no rules given: add --rules PATH") }
        let settings = try botSettings(environment)
        if let path = summary ?? environment["summary"] { try OutputFile.check(path) }
        let choice = try gateway.choice(environment)
        let ruleSet = try RuleSet.load(paths: paths)
        let place = try StatePlace(choice: choice, directory: state.directory(environment), state.botName(environment))
        defer { place.discardIfTemporary() }
        let ledger = try Ledger(
            directory: place.directory, name: place.name, gateway: place.gatewayIdentity, ruleSetHash: ruleSet.hash)
        defer { ledger.close() }

        try await GatewayConnection.with(choice, options: gateway, environment: environment, logger: logger) {
            gateway in
            let bot = Bot(
                gateway: gateway, ruleSet: ruleSet, ledger: ledger, settings: settings, report: report, logger: logger)
            let grace = try environment.value(shutdownGrace, "shutdown-grace", parse: TimeSpan.init(argument:))
            try await StoppableService.run(bot, grace: grace?.duration ?? .seconds(30), logger: logger)
            let counters = await report.counters()
            logger.info(
                "done",
                metadata: [
                    "changes": "\(counters.changes)", "matched": "\(counters.matched)",
                    "written": "\(counters.written)",
                    "unchanged": "\(counters.unchanged)", "dead_letters": "\(counters.deadLetters)",
                ])
        }
    }

    private func botSettings(_ environment: Environment) throws(CommandFailure) -> BotSettings {
        var settings = BotSettings()
        settings.isOneShot = try environment.isOn(once, "once")
        settings.delivery.patience.isDaemon = !settings.isOneShot
        if let span = try environment.value(retryFor, "retry-for", parse: TimeSpan.init(argument:)) {
            settings.delivery.patience.retryFor = span.duration
            settings.delivery.patience.waitsForFirstContact = true
        }
        if let size = try environment.value(memoryBudget, "memory-budget", parse: ByteSize.init(argument:)) {
            settings.delivery.memoryBudget = size.bytes
        }
        switch since ?? environment["since"] {
        case nil: break
        case "0": settings.since = .beginning
        case "now": settings.since = .now
        case let text?:
            guard let sequence = SequenceID(text) else { throw CommandFailure(.usage, "--since is empty") }
            settings.since = .sequence(sequence)
        }
        return settings
    }
}
