internal import ArgumentParser
internal import Bots
internal import DocumentFlow
internal import Fleet

/// The options of `run` beyond those of all jobs: how it shares work, which changes it reads, what it reloads, and what
/// happens if one of several bots fails.
///
/// One group, and not one for each of these: see ``GatewayOptions``.
struct FollowingOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "With --engine, share the work between all processes of the fleet: auto, or only read the feed (reader) or only work on changes (worker). Default: one process of a fleet is active, and the others are on standby.",
            valueName: "role"))
    var role: FleetMember.Role?

    @Option(
        help: ArgumentHelp(
            "With --role, the number of partitions, which limits how many processes can work. Fixed by the first start. Default: 64.",
            valueName: "number"))
    var partitions: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Where to start if there is no checkpoint: 0 (the beginning), now, or a sequence. Default: the copy of the checkpoint in the database if rules and channels are the same, otherwise 0.",
            valueName: "seq"), transform: StartArgument.parse)
    var since: StartArgument?

    @Option(help: "How to wait for changes. Default: longpoll.")
    var feed: FeedReader.FeedMode?

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

    /// Which changes the bot reads, and how it waits for them.
    ///
    /// - Throws: ``CommandError`` with 64, or with 78 for a value in a file.
    func feedSettings(_ environment: Environment) throws(CommandError) -> BotSettings.Feed {
        var settings = BotSettings().feed
        settings.since = try environment.value(since, "since", parse: StartArgument.init(argument:))?.start
        settings.following =
            try environment.value(feed, "feed", parse: FeedReader.FeedMode.init(rawValue:)) ?? settings.following
        settings.channels = try environment.value(channels, "channels", parse: ChannelList.init(argument:))?.names
        return settings
    }
}

extension Sharing {
    /// How a bot shares the work. Nil: it does not.
    ///
    /// - Throws: ``CommandError`` with 64 or 78.
    static func chosen(
        _ role: FleetMember.Role?, _ partitions: Int?, hasEngine: Bool, _ environment: Environment,
        isDaemon: Bool = true
    ) throws(CommandError) -> Sharing? {
        let roleName = role == nil ? environment.naming("role") : "--role"
        let number = try environment.value(partitions, "partitions", parse: { Int($0) })
        guard let role = try environment.value(role, "role", parse: FleetMember.Role.init(rawValue:)) else {
            guard number == nil else {
                let name = partitions == nil ? environment.naming("partitions") : "--partitions"
                throw environment.contradiction(
                    ["partitions"],
                    "\(name) only applies to members that share the work: "
                        + "\(environment.remedy("role", "auto", for: "partitions")), or remove it")
            }
            return nil
        }
        guard hasEngine else {
            throw environment.contradiction(
                ["role"],
                "\(roleName) requires an engine: \(environment.remedy("engine", "postgres://…", for: "role")), or remove it"
            )
        }
        guard isDaemon else {
            throw environment.contradiction(
                ["role"], "\(roleName) only applies to daemons: remove --once and --dry-run")
        }
        return try environment.checking("partitions", isFlag: partitions != nil) { () throws(CommandError) in
            let number = number ?? Sharing.defaultPartitions
            guard (1...1024).contains(number) else {
                throw CommandError(.usage, "--partitions must be from 1 to 1024")
            }
            return Sharing(role: role, partitions: number)
        }
    }
}

extension FeedReader.FeedMode: ExpressibleByArgument {}
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
