internal import ArgumentParser

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run",
        abstract: "Follow the changes feed and apply rules to each changed document.",
        discussion: """
            changebot run --gateway http://127.0.0.1:4985/todo --rules rules/attach-images.yaml
            changebot run --config changebot.yaml

            A configuration file may have several bots, which run in one process. SIGHUP reloads rules and \
            configuration; if anything is invalid, the old ones stay in force.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var databases: DatabaseOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var job: JobOptions
    @OptionGroup var http: HTTPOptions
    @OptionGroup var common: CommonJobOptions
    @OptionGroup var log: LogOptions

    @Flag(help: "Process the changes that are now in the feed, then exit.")
    var once = false

    @OptionGroup var following: FollowingOptions
    @OptionGroup var trace: TraceOptions

    func run() async throws {
        let notifier = ServiceNotifier.ofThisProcess()
        do { try await run(notifier) } catch {
            notifier?.noteFailure(CommandError(error))
            throw error
        }
    }

    private func run(_ notifier: ServiceNotifier?) async throws {
        let (process, bots) = try plan(notifier)
        if process.isOneShot { EarlyHangup.restore() }
        try await Watchdog.whileFeeding(process.notifier, process.monitored, process.logger) {
            try await StatusServer.whileServing(process.monitored, process.http, process.logger) {
                try await StoppableService.run(grace: process.grace, logger: process.logger) { try await bots.run() }
            }
        }
    }

    private func plan(_ notifier: ServiceNotifier?) throws -> (ProcessPlan, BotGroup) {
        // Watch each file before reading it, so that a change in between is noticed.
        let reloads = ReloadRequests(files: RunPlan.ownFiles(self))
        let file = try config.file(Environment())
        reloads.watch(RunPlan.namedFiles(in: file), keepingOthers: true)
        let plan = try RunPlan(self, file, notifier: notifier)
        return (plan.process, BotGroup(self, plan, reloads))
    }
}
