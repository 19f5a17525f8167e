internal import BotState
internal import Bots
internal import DocumentFlow
internal import Encodings
internal import GatewayClient

/// A bot to inspect: its settings, as far as they are valid.
struct DoctorBot: Sendable {
    let name: String
    /// The gateway; nil if it is invalid or missing.
    private(set) var choice: GatewayChoice?
    /// The databases that the bot follows. Nil: one, or the setting is invalid.
    private(set) var databases: DatabasePatterns?
    /// The settings for a remote gateway; nil if one of them is invalid.
    private(set) var access: GatewaySettings?
    let state: StateCatalogue
    /// Nil if there is none, or one of its settings is invalid.
    private(set) var engine: Engine?
    /// Whether the settings name an engine, valid or not.
    let hasEngine: Bool
    let rulePaths: [String]?
    private(set) var channels: [String]?
    private(set) var following = FeedReader.FeedMode.longpoll
    /// Nil if the bot does not share the work, or the setting is invalid.
    private(set) var sharing: Sharing?
    /// What to do if credentials are needed but missing.
    let advice: String
    /// Findings about the settings themselves.
    private(set) var findings: [Finding] = []

    /// - Parameter place: The bot's place in the configuration file; nil without a file.
    /// - Throws: ``CommandError`` with 64. Errors in files become findings instead.
    init(_ command: DoctorCommand, _ environment: Environment, _ place: String?) throws(CommandError) {
        name = try command.state.botName(environment)
        state = StateCatalogue(directory: command.state.directory(environment), name: name)
        hasEngine = command.state.engine ?? environment["engine"] != nil
        rulePaths = environment.values(command.rules, "rules")
        advice = Credentials.advice(environment)
        if let place, command.gateway.address == nil, environment["gateway"] == nil {
            findings = [Finding(.error, "\(place): the bot has no 'gateway'", remedy: "write the URL of its keyspace")]
        } else {
            choice = try collect { () throws(CommandError) in try command.gateway.choice(environment) }
        }
        if let choice {
            databases = try collect { () throws(CommandError) in try command.databases.choice(environment, choice) }
                .flatMap(\.self)
        }
        engine = try collect { () throws(CommandError) in try command.state.engine(environment) }.flatMap(\.self)
        if let path = environment["engine-password-file"], hasEngine {
            let file = SecretFile(
                path: path, what: "password", setting: environment.naming("engine-password-file"))
            if file.isExposed { findings.append(.exposed(file.path, what: file.what)) }
        }
        channels = try collect { () throws(CommandError) in
            try environment.value(command.channels, "channels", parse: ChannelList.init(argument:))?.names
        }.flatMap(\.self)
        following =
            try collect { () throws(CommandError) in
                try environment.value(command.feed, "feed", parse: FeedReader.FeedMode.init(rawValue:))
            }.flatMap(\.self) ?? .longpoll
        let options = (command.role, command.partitions, hasEngine)
        sharing = try collect { () throws(CommandError) in
            try Sharing.chosen(options.0, options.1, hasEngine: options.2, environment)
        }.flatMap(\.self)
        guard case .remote(let url)? = choice else {
            summarize()
            return
        }
        access = try collect { () throws(CommandError) in
            var settings = try command.access.settings(for: url, environment)
            settings.accessTokens = try command.access.accessTokens(environment)
            return settings
        }
        let secrets = try collect { () throws(CommandError) in try command.access.confidentialFiles(environment) }
        for file in secrets ?? [] where file.isExposed { findings.append(.exposed(file.path, what: file.what)) }
        summarize()
    }

    /// What `body` returns; nil, with findings, if something in a file is invalid.
    ///
    /// - Throws: ``CommandError`` with 64.
    private mutating func collect<Value>(
        _ body: () throws(CommandError) -> Value
    ) throws(CommandError) -> Value? {
        do { return try body() } catch {
            guard error.code != .usage else { throw error }
            findings += error.messages.map { Finding(.error, message: $0) }
            return nil
        }
    }

    /// Adds a finding that sums up the settings, if all are valid.
    private mutating func summarize() {
        guard let choice, !findings.contains(where: { $0.level == .error }) else { return }
        let usesTokens = access?.accessTokens != nil
        let login =
            access?.credentials.map { "as \($0)" } ?? (usesTokens ? "with renewed tokens" : "without credentials")
        let loginSuffix = if case .remote = choice { ", \(login)" } else { "" }
        let place = engine.map { "\($0.address)" } ?? state.directory
        findings.append(.ok("\(choice.stateAddress)\(loginSuffix); bot '\(name)', state in \(place)"))
    }
}
