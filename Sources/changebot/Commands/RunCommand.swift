internal import ArgumentParser
internal import Bots
internal import DocumentFlow
internal import Fleet
internal import GatewayClient

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Follow the changes feed and apply rules to each changed document.",
        discussion: """
            changebot run --gateway http://127.0.0.1:4985/todo --rules rules/attach-images.yaml
            changebot run --config changebot.yaml

            A configuration file may have several bots; they run in one process. SIGHUP reloads rules and \
            configuration: if all is valid, it is in force from then on, else the old ones stay.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var job: JobOptions
    @OptionGroup var http: HTTPOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Flag(help: "Process the changes that the feed holds now, then end.")
    var once = false

    @Option(
        help: ArgumentHelp(
            "With --engine, share the work between all processes of the fleet: auto, or only read the feed (reader) or only work on changes (worker). Default: one process of a fleet is active, and the others are on standby.",
            valueName: "role"))
    var role: FleetMember.Role?

    @Option(
        help: ArgumentHelp(
            "With --role, how many parts the documents fall into: the most processes that can work. Fixed with the first start. Default: 64.",
            valueName: "number"))
    var partitions: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where to start if there is no checkpoint: 0 (the beginning), now, or a sequence. Default: the copy of the checkpoint in the database, if rules and channels are the same, else 0.",
            valueName: "seq"), transform: StartArgument.parse)
    var since: StartArgument?

    @Option(help: "How to wait for changes. Default: longpoll.")
    var feed: FeedReader.Following?

    @Option(
        help: ArgumentHelp("Only documents in these channels (Sync Gateway).", valueName: "a,b"),
        transform: ChannelList.parse)
    var channels: ChannelList?

    @Option(
        help:
            "What to do when the database was reset or restored: restart (at the beginning of the feed) or stop (with exit code 78). Default: restart, but stop if rules have webhook or emit."
    )
    var onReset: ResetPolicy?

    @Flag(help: "Reload rules and configuration when their files change, as on SIGHUP.")
    var watch = false

    @Flag(help: "Also apply new and changed rules to all documents, while the run continues.")
    var catchUpChangedRules = false

    @Option(
        help: ArgumentHelp(
            "With several bots, what to do when one fails: continue with the others, or stop them all. Default: continue."
        ))
    var onBotFailure: BotFailurePolicy?

    func run() async throws {
        let notifier = ServiceNotifier.ofThisProcess()
        do { try await run(notifier) } catch {
            notifier?.noteFailure(CommandError(error))
            throw error
        }
    }

    private func run(_ notifier: ServiceNotifier?) async throws {
        let (process, bots) = try plan(notifier)
        if process.isOneShot { EarlyHangUp.letGo() }
        try await Watchdog.whileFeeding(process.notifier, process.monitored, process.logger) {
            try await StatusServer.whileServing(process.monitored, process.http, process.logger) {
                try await StoppableService.run(bots, grace: process.grace, logger: process.logger)
            }
        }
    }

    private func plan(_ notifier: ServiceNotifier?) throws -> (ProcessPlan, BotGroup) {
        // Each file is looked at before it is read, so that a change in between is noticed.
        let reloads = ReloadRequests(files: RunPlan.ownFiles(self))
        let file = try config.file(Environment())
        reloads.watch(RunPlan.namedFiles(in: file), keepingOthers: true)
        let plan = try RunPlan(self, file, notifier: notifier)
        let reader = BotGroup.Reader { [process = plan.process] in
            try RunPlan(self, try config.file(Environment()), continuing: process)
        } namedFiles: {
            RunPlan.namedFiles(self)
        }
        return (plan.process, BotGroup(plan, reader: reader, reloads: reloads))
    }
}

extension FeedReader.Following: ExpressibleByArgument {}
extension ResetPolicy: ExpressibleByArgument {}
extension FleetMember.Role: ExpressibleByArgument {}
extension BotFailurePolicy: ExpressibleByArgument {}

/// The value of `--since`: where a run without a checkpoint starts.
struct StartArgument: OptionValue {
    static let expected = "0, now, or a sequence as the gateway prints it, such as 1234 or 7-g1AAAA"

    let start: BotSettings.Start

    init?(argument: String) {
        switch argument {
        case "0": start = .beginning
        case "now": start = .now
        default:
            guard let sequence = SequenceArgument(argument: argument) else { return nil }
            start = .sequence(sequence.sequence)
        }
    }
}
