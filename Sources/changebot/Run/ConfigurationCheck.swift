internal import Rules

/// Collects all errors of a configuration file and of the files that it names.
///
/// Building a plan stops at the first error. So this removes the setting that the error names, and builds the plan
/// again.
struct ConfigurationCheck {
    private let command: RunCommand
    private var messages: [String] = []
    private var code: ExitStatus?
    private var isListing = true
    /// Rules that were already loaded, by their paths. Empty rules replace files that are invalid.
    private var loaded: [[String]: RuleFileSet] = [[ConfigurationFile.noRules]: .empty]
    private static let incomplete = ": the bot has no '"

    init(_ command: RunCommand) { self.command = command }

    /// All errors, with those of the configuration file first. Nil if there are none.
    var error: CommandError? {
        code.map { CommandError($0, listing: messages, isListing: isListing) }
    }

    /// Blocks.
    ///
    /// - Throws: ``CommandError`` if the file can't be read or does not contain the bot that an option names.
    mutating func run(_ path: String) throws(CommandError) {
        let (file, errors) = try ConfigurationFile.inspect(path)
        if !errors.isEmpty { note(CommandError(.badConfiguration, listing: errors)) }
        guard let file else { return }
        var plans: [BotPlan] = []
        for bot in try command.config.bots(of: file) { plans += check(file.with(bots: [bot])) }
        for error in RunPlan.shared(among: plans) { note(error) }
        sort(path)
    }

    /// Checks a file with one bot.
    ///
    /// - Returns: The plan of the bot without the settings that are wrong. Empty if there is none.
    private mutating func check(_ file: ConfigurationFile) -> [BotPlan] {
        var file = file
        for _ in 0...SettingKey.all.count {
            do {
                let plan = try RunPlan(command, file, loaded: loaded)
                for bot in plan.bots { try checkAccess(bot) }
                return plan.bots
            } catch let error as RuleFilesError {
                note(CommandError(error))
                let paths = file.bots.first?.settings["rules"]?.texts ?? []
                guard loaded.updateValue(.empty, forKey: paths) == nil else { return [] }
            } catch {
                let error = CommandError(error)
                let isIncomplete = error.messages.contains { $0.contains(Self.incomplete) }
                note(isIncomplete ? withoutKnown(error) : error)
                guard let next = isIncomplete ? file.completed : file.without(settingsIn: error.messages) else {
                    return []
                }
                file = next
            }
        }
        return []
    }

    /// A secret that can't be read is the last error of a bot: without that setting, its user would have none.
    private mutating func checkAccess(_ bot: BotPlan) throws(CommandError) {
        do throws(CommandError) { _ = try bot.job.connection.checkAccess() } catch {
            guard error.code == .missingInput else { throw error }
            note(error)
        }
    }

    /// Drops messages about missing keys that exist but are invalid, which was already reported.
    private func withoutKnown(_ error: CommandError) -> CommandError {
        CommandError(
            error.code,
            listing: error.messages.filter { message in
                let key = message.split(separator: Self.incomplete).last?.prefix { $0 != "'" } ?? ""
                return !messages.contains { $0.contains(": '\(key)' ") }
            })
    }

    private mutating func note(_ error: CommandError) {
        guard !error.messages.isEmpty else { return }
        if code == nil { (code, isListing) = (error.code, error.isListing) }
        messages += error.messages.filter { !messages.contains($0) }
    }

    /// Sorts the messages about the configuration file by their places.
    private mutating func sort(_ path: String) {
        func place(_ message: String) -> (Int, Int)? {
            guard message.hasPrefix(path + ":") else { return nil }
            let parts = message.dropFirst(path.count + 1).split(separator: ":", maxSplits: 2)
            guard parts.count == 3, let line = Int(parts[0]), let column = Int(parts[1]) else { return nil }
            return (line, column)
        }
        let own = messages.filter { place($0) != nil }.sorted { place($0) ?? (0, 0) < place($1) ?? (0, 0) }
        messages = own + messages.filter { place($0) == nil }
    }
}

extension ConfigurationFile {
    /// The placeholder for the rules of a bot that names none.
    fileprivate static let noRules = "/dev/null"

    fileprivate func with(bots: [Bot]) -> ConfigurationFile {
        ConfigurationFile(path: path, common: common, bots: bots)
    }

    /// The file with placeholders, a gateway in memory and empty rules, where bots lack them. Nil if none does.
    fileprivate var completed: ConfigurationFile? {
        var isChanged = false
        let bots = bots.map { bot in
            var settings = bot.settings
            for (key, text) in [("gateway", "embedded:"), ("rules", Self.noRules)] where settings[key] == nil {
                settings[key] = Setting(texts: [text], position: bot.position)
                isChanged = true
            }
            return Bot(name: bot.name, position: bot.position, settings: settings)
        }
        return isChanged ? with(bots: bots) : nil
    }

    /// The file without the settings that the messages are about. Nil if there are none.
    fileprivate func without(settingsIn messages: [String]) -> ConfigurationFile? {
        func isNamed(_ setting: Setting) -> Bool {
            messages.contains { $0.hasPrefix(place(setting.position) + ": ") }
        }
        func kept(_ settings: [String: Setting]) -> [String: Setting] {
            settings.filter { key, setting in key == "rules" || !isNamed(setting) }
        }
        let rest = ConfigurationFile(
            path: path, common: kept(common),
            bots: bots.map { Bot(name: $0.name, position: $0.position, settings: kept($0.settings)) })
        let isSame =
            common.count == rest.common.count
            && zip(bots, rest.bots).allSatisfy { $0.settings.count == $1.settings.count }
        return isSame ? nil : rest.completed ?? rest
    }
}
