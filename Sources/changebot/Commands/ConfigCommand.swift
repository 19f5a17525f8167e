internal import ArgumentParser
internal import CEmbeddedFiles
internal import Encodings
internal import Logging
internal import LosslessJSON
internal import Rules

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", abstract: "Show or check a configuration file.",
        subcommands: [ConfigShowCommand.self, ConfigCheckCommand.self, ConfigSchemaCommand.self])
}

struct ConfigShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the settings that 'run' would use, and where each comes from.",
        discussion: """
            changebot config show --config changebot.yaml
            changebot config show

            Without a file, it shows the settings from the environment. Secrets are masked.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var notes: NoteOptions

    @Flag(help: "Print one JSON object for each bot.")
    var json = false

    private struct Row {
        let key: String
        let value: String?
        let source: String
    }

    func run() async throws {
        let variables = Environment()
        let json = try variables.isOn(json, "json")
        let file = try config.file(variables)
        let bots = try file.map { try config.bots(of: $0, variables).map(Optional.init) } ?? [nil]
        if let file, bots.count > 1 {
            let command = try RunCommand.parse([])
            try command.refuseOptionsOfOneBot(file, bots.compactMap(\.self), variables)
        }
        for (index, bot) in bots.enumerated() {
            let environment = file.map { variables.with($0, bot: bot) } ?? variables
            let rows = Self.rows(environment)
            if json {
                try Console.write(Self.json(rows))
            } else {
                try Console.write((index == 0 ? [] : [""]) + Self.table(rows))
            }
        }
    }

    private static func rows(_ environment: Environment) -> [Row] {
        let credentials = environment.together(Credentials.options)
        let secrets = ["password", "token", "client-secret", "api-key"].compactMap { name -> Row? in
            guard environment[name] != nil else { return nil }
            return Row(key: SettingKey.name(of: name), value: "********", source: Environment.variable(of: name))
        }
        return secrets
            + SettingKey.all.map { key in
                let isCredential = Credentials.options.contains(key.option)
                let found = isCredential ? credentials : environment
                guard let value = found[key.option], let source = found.source(of: key.option) else {
                    let fallback = key.name == "state" ? defaultState(environment) : key.fallback
                    return Row(key: key.name, value: fallback, source: fallback == nil ? "not set" : "default")
                }
                return Row(key: key.name, value: value.withoutUserInfo, source: source.place)
            }
    }

    private static func defaultState(_ environment: Environment) -> String? {
        (try? StateOptions.parse([]))?.directory(environment)
    }

    private static func table(_ rows: [Row]) -> [String] {
        let given = rows.map { ($0.key, $0.value?.visible ?? "-", $0.source.visible) }
        let first = given.map(\.0.count).max() ?? 0
        let second = min(60, given.map(\.1.count).max() ?? 0)
        return given.map { key, value, source in
            "\(key.padded(to: first))  \(value.padded(to: second))  \(source)"
        }
    }

    private static func json(_ rows: [Row]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { writer in
            for row in rows {
                writer.name(row.key)
                writer.object { writer in
                    writer.member("value", optional: row.value)
                    writer.member("source", string: row.source)
                }
            }
        }
        return writer.bytes
    }
}

struct ConfigCheckCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a configuration file, and the rules and secrets that it names. No request is sent.",
        discussion: "Example: changebot config check --config changebot.yaml")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let command = try RunCommand.parse(arguments)
        guard let path = config.config ?? Environment()["config"] else {
            throw CommandError(.usage, "no configuration file given: add --config FILE")
        }
        var check = ConfigurationCheck(command)
        try check.run(path)
        if let error = check.error { throw error }
        guard let file = try config.file() else { return }
        for bot in try RunPlan(command, file).bots {
            for file in try bot.job.connection.checkAccess() where file.isExposed {
                try notes.note(
                    "\(file.path): every user of this machine can read this file with a \(file.what); run chmod o-r "
                        + file.path.shellWord)
            }
            try notes.note("\(bot.name): \(bot.rules.ruleSet.count.counted("rule")), \(bot.job.place.address)")
        }
    }

    /// The arguments of `run` for the same settings.
    private var arguments: [String] {
        (config.config.map { ["--config", $0] } ?? []) + (config.bot.map { ["--bot", $0] } ?? [])
    }
}

struct ConfigSchemaCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Print the JSON Schema of configuration files, for editors.",
        discussion: """
            Example: changebot config schema > configuration.schema.json

            Then begin your file with this line:
            # yaml-language-server: $schema=configuration.schema.json
            """)

    func run() { Console.print(schema: configuration_schema.content) }
}

extension Environment.Source {
    /// Where the user finds the setting: a variable, or a line of the file.
    fileprivate var place: String {
        switch self {
        case .variable(let name): name
        case .file(let place, _): place
        }
    }
}

extension String {
    /// The URL with its user and password masked: they are secrets.
    fileprivate var withoutUserInfo: String {
        var bytes = Array(utf8)
        bytes.replaceSubrange(
            ProcessTitle.userInfo(in: bytes),
            with: ProcessTitle.userInfo(in: bytes).isEmpty ? [] : Array("********".utf8))
        return String(decoding: bytes, as: UTF8.self)
    }
}
