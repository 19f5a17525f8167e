internal import ArgumentParser

/// The options that select a configuration file and a bot in it.
struct ConfigOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Read settings from this file. Options and variables override it.", valueName: "file"),
        completion: .yamlFile)
    var config: String?

    @Option(help: ArgumentHelp("Only this bot of the configuration file.", valueName: "name"))
    var bot: String?

    /// The file; nil if none is given. Blocks.
    ///
    /// - Throws: ``CommandError`` with 64 if a bot is named without a file, 66, or 78.
    func file(_ environment: Environment = Environment()) throws(CommandError) -> ConfigurationFile? {
        guard let path = config ?? environment["config"] else {
            guard bot == nil else { throw CommandError(.usage, "--bot needs a configuration file: add --config FILE") }
            return nil
        }
        return try .read(path)
    }

    /// The selected bots of the file: all of them, or the one that `--bot` names.
    ///
    /// - Throws: ``CommandError`` with 64 if there is no bot with that name.
    func bots(
        of file: ConfigurationFile, _ environment: Environment = Environment()
    ) throws(CommandError) -> [ConfigurationFile.Bot] {
        guard let name = bot ?? environment["bot"] else { return file.bots }
        let chosen = file.bots.filter { $0.name == name }
        guard chosen.isEmpty else { return chosen }
        let names = file.bots.map(\.name).joined(separator: ", ")
        throw CommandError(.usage, "\(file.path) has no bot '\(name.visible)'; bots there: \(names)")
    }

    /// The settings for a command other than `run` that needs exactly one bot.
    ///
    /// - Throws: ``CommandError`` with 64 if the file has several bots and none is selected.
    func environment() throws(CommandError) -> Environment {
        let environments = try environments()
        guard environments.count == 1 else {
            let names = environments.compactMap { $0["name"] }.joined(separator: ", ")
            throw CommandError(.usage, "the configuration file has several bots (\(names)): name one with --bot")
        }
        return environments[0]
    }

    /// The settings of each selected bot, for a command other than `run`.
    func environments() throws(CommandError) -> [Environment] {
        let environment = Environment()
        guard let file = try file(environment) else { return [environment] }
        return try bots(of: file, environment).map { environment.with(file, bot: $0, isForRun: false) }
    }
}
