internal import Rules

/// The configuration of `run`: the process and its bots.
struct RunPlan: Sendable {
    let process: ProcessPlan
    /// At least one.
    let bots: [BotPlan]
    /// The files to watch: the configuration file, rule files and their folders, and files that rules attach.
    let files: [String]
    /// The process-wide keys whose values in the file have changed since the start, in order. They have no effect.
    let changedProcessKeys: [String]

    /// Reads all rules. Blocks.
    ///
    /// - Parameters:
    ///   - written: The configuration file.
    ///   - notifier: Tells systemd what the process does. Nil: no listener.
    ///   - former: The current plan of this process, if this is a reload.
    ///   - loaded: Rules that were already loaded, by their paths.
    /// - Throws: ``CommandError``, `RuleFilesError`.
    init(
        _ command: RunCommand, _ written: ConfigurationFile?, notifier: ServiceNotifier? = nil,
        continuing former: ProcessPlan? = nil, loaded: [[String]: RuleFileSet] = [:]
    ) throws {
        let variables = Environment()
        let file = former.map { written?.with(processSettings: $0.settings) } ?? written
        changedProcessKeys = former.map { written?.processKeys(otherThan: $0.settings) ?? [] } ?? []
        let bots = try file.map { try command.config.bots(of: $0, variables) } ?? []
        if let file, bots.count > 1 { try command.refuseOptionsOfOneBot(file, bots, variables) }
        let process = try ProcessPlan(
            command, file.map { variables.with($0, bot: nil) } ?? variables, file, notifier, continuing: former)
        self.process = process
        // Rules that several bots share are read only once.
        var loaded = loaded
        if let file {
            self.bots = try bots.map { bot in
                let environment = variables.with(file, bot: bot)
                do {
                    return try BotPlan(
                        command, environment, process, &loaded,
                        Self.signature(bot, isOneOfSeveral: bots.count > 1), file.place(bot.position))
                } catch let error as RuleFilesError where command.job.rules.isEmpty {
                    throw error.placed(in: file, environment.isInFile("rules") ? bot.settings["rules"] : nil)
                }
            }
        } else {
            self.bots = [try BotPlan(command, variables, process, &loaded, [:], nil)]
        }
        files = (file.map { [$0.path] } ?? []) + self.bots.flatMap(\.rules.files)
        if let error = Self.shared(among: self.bots).first { throw error }
    }

    /// The errors of bots that share a file or a state in an engine, with 64 or 78.
    static func shared(among bots: [BotPlan]) -> [CommandError] {
        var errors: [CommandError] = []
        func note(_ bot: BotPlan, _ message: String) {
            let place = bot.place.map { "\($0): " } ?? ""
            errors.append(CommandError(.badConfiguration, listing: [place + message], isListing: bot.place != nil))
        }
        var (ofFiles, ofFleets): ([String: String], [String: String]) = ([:], [:])
        for bot in bots {
            if let other = bot.embeddedFile.flatMap({ ofFiles.updateValue(bot.name, forKey: $0) }) {
                note(
                    bot,
                    "the bots '\(other)' and '\(bot.name)' would open the same file of an embedded gateway: run 'changebot gateway --data FILE', and give both its URL"
                )
            }
        }
        do throws(CommandError) {
            try DistinctFiles.check(bots.map { ("summary of \($0.name)", $0.job.summary) })
        } catch {
            errors.append(error)
        }
        for bot in bots {
            if let other = bot.fleet.flatMap({ ofFleets.updateValue(bot.title, forKey: $0) }) {
                note(bot, "the bots '\(other)' and '\(bot.title)' have the same fleet: give each its own 'fleet'")
            }
        }
        return errors
    }

    /// The settings that require a restart of the bot if they change. Rules don't: they are replaced while it runs. The
    /// entry `bots` makes log lines name the bot if it is one of several.
    private static func signature(_ bot: ConfigurationFile.Bot, isOneOfSeveral: Bool) -> [String: [String]] {
        var signature = bot.settings.filter { key, _ in
            key != "rules" && SettingKey.named(key)?.scope == .bot
        }.mapValues(\.texts)
        if isOneOfSeveral { signature["bots"] = [] }
        return signature
    }
}

extension RuleFilesError {
    /// With the place of the setting that names them, for files that can't be found or read.
    ///
    /// - Parameter setting: The setting in the configuration file; nil if the files are named elsewhere.
    fileprivate func placed(
        in file: ConfigurationFile, _ setting: ConfigurationFile.Setting?
    ) -> RuleFilesError {
        guard let setting else { return self }
        let errors = errors.map { error in
            guard error.position == nil, setting.texts.contains(error.path) else { return error }
            return RuleFileError(
                path: file.path, position: setting.position, message: "'rules': \(error.path): \(error.message)")
        }
        return RuleFilesError(kind: kind, errors: errors)
    }
}

// MARK: - Files to watch

extension RunPlan {
    /// The configuration file and all named paths of rules, even if something in them is invalid. Blocks.
    static func namedFiles(_ command: RunCommand) -> [String] {
        ownFiles(command) + namedFiles(in: try? command.config.file(Environment()))
    }

    /// The files that options and variables name.
    static func ownFiles(_ command: RunCommand) -> [String] {
        let variables = Environment()
        let path = command.config.config ?? variables["config"]
        return (path.map { [$0] } ?? []) + (variables.values(command.job.rules, "rules") ?? [])
    }

    /// The paths of rules that the configuration file names.
    static func namedFiles(in file: ConfigurationFile?) -> [String] {
        file?.bots.flatMap { $0.settings["rules"]?.texts ?? [] } ?? []
    }
}
