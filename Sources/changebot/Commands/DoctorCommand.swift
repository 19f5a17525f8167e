internal import ArgumentParser
internal import DocumentFlow
internal import Encodings
internal import Fleet
internal import GatewayClient

struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check everything that a bot needs; report problems and how to fix them.",
        discussion: """
            changebot doctor --gateway http://127.0.0.1:4985/todo --rules rules/
            changebot doctor --config changebot.yaml

            It checks the connection, TLS, the clock, the gateway and the permissions of the login; the state folder, \
            the disk, the rules and the files that they need. It changes no document, creates no state, and can run \
            while the bot runs. It writes one local document and deletes it again.

            The last check looks for proxies that cut idle requests, and takes 50 s, as long as a bot waits; --no-wait \
            skips it.

            With --quiet it prints only warnings and errors.

            Exits with 0 if there are no errors, even with warnings; otherwise with 1.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var databases: DatabaseOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var state: StateOptions

    @Option(
        name: .shortAndLong, parsing: .upToNextOption,
        help: ArgumentHelp("Rule files, or folders of rule files.", valueName: "path"), completion: .yamlFile)
    var rules: [String] = []

    @Option(
        help: ArgumentHelp("The channels that the bot reads (Sync Gateway).", valueName: "a,b"),
        transform: ChannelList.parse)
    var channels: ChannelList?

    @Option(help: "How the bot waits for changes. Default: longpoll.")
    var feed: FeedReader.FeedMode?

    @Option(help: ArgumentHelp("The --role of the bot.", valueName: "role"))
    var role: FleetMember.Role?

    @Option(help: ArgumentHelp("The --partitions of the bot.", valueName: "number"))
    var partitions: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "How long to wait for proxies that cut idle requests. 0s: not at all. Default: 50s, as long as a bot waits.",
            valueName: "duration"), transform: TimeSpan.parse)
    var idle: TimeSpan?

    @Flag(help: "Don't wait for proxies that cut idle requests. The same as --idle 0s.")
    var noWait = false

    @Flag(help: "Print one JSON object for each finding, with bot, check, level, text and remedy.")
    var json = false

    @OptionGroup var colors: ColorOption
    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let variables = Environment()
        let (bots, environment) = try inspectedBots(variables)
        let isJSON = try environment.isOn(json, "json")
        let lines = FindingLines(
            style: try colors.style(environment, of: .standardOutput), bots: bots.map(\.name))
        let report = FindingReport(lines, isJSON: isJSON, isQuiet: try notes.isQuiet(environment))
        let idle = try idleSpan(environment)
        if let idle, bots.contains(where: \.isRemote) {
            try notes.note(
                "waiting \(TimeSpan(idle)) for proxies that cut idle requests; --no-wait skips this check", environment)
        }
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                let finding = await onOtherThread { LibraryCheck.finding }
                await report.finish(DoctorSlot(bot: nil, check: .libraries), [finding])
            }
            for (index, bot) in bots.enumerated() {
                let inspection = BotInspection(bot: bot, idle: idle, report: BotReport(report: report, bot: index))
                group.addTask { await inspection.run() }
            }
        }
        try await report.requirePrinted()
        let (errors, warnings) = (await report.count(.error), await report.count(.warning))
        try notes.note("\(Counted(errors, "error")), \(Counted(warnings, "warning"))", environment)
        if errors > 0 { throw CommandError(.incomplete) }
    }

    /// The bots to inspect, and the settings of the whole process.
    ///
    /// - Throws: ``CommandError`` with 64; with 66 or 78 for a configuration file that can't be read or is not valid.
    private func inspectedBots(_ variables: Environment) throws -> (bots: [DoctorBot], Environment) {
        guard let file = try config.file(variables) else {
            return ([try DoctorBot(self, variables, nil)], variables)
        }
        let bots = try config.bots(of: file, variables)
        if bots.count > 1 {
            // Refuse the same options as 'run' does.
            var command = try RunCommand.parse([])
            (command.gateway, command.databases) = (gateway, databases)
            (command.state, command.following.channels) = (state, channels)
            command.job.rules = rules
            try command.refuseOptionsOfOneBot(file, bots, variables)
        }
        let inspected = try bots.map { bot in
            try DoctorBot(self, variables.with(file, bot: bot), file.place(bot.position))
        }
        return (inspected, variables.with(file, bot: nil))
    }

    /// How long to wait for proxies that cut idle requests. Nil: skip that check.
    private func idleSpan(_ environment: Environment) throws(CommandError) -> Duration? {
        let span = try environment.value(idle, "idle", parse: TimeSpan.init(argument:))?.duration
        guard try environment.isOn(noWait, "no-wait") else {
            return (span ?? IdleCheck.defaultSpan) > .zero ? span ?? IdleCheck.defaultSpan : nil
        }
        guard span == nil || span == .zero else {
            throw CommandError(.usage, "--idle and --no-wait contradict each other: remove one")
        }
        return nil
    }
}

extension DoctorBot {
    /// Whether there is a network between the bot and its gateway.
    fileprivate var isRemote: Bool { if case .remote? = choice { true } else { false } }
}
