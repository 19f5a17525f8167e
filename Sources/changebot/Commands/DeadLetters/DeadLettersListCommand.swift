internal import ArgumentParser
internal import BotState

struct DeadLettersListCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters.",
        discussion: """
            changebot dead-letters list --rule stamp --since 2h
            changebot dead-letters list --reason 'not allowed' --json
            changebot dead-letters list --count

            The number of dead letters for each rule goes to stderr at the end; --count prints only that, with --json \
            as {"dead_letters":3,"rules":{"stamp":2},"no_rule":1}.

            For a configuration file with several bots, the dead letters are listed under each bot's name (with \
            --json, each has a member 'bot'); --bot selects one bot.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions
    @OptionGroup var deadLetters: DeadLetterFilterOptions

    @Flag(help: "Print one JSON object per line, like 'export'.")
    var json = false

    @Flag(help: "Print only the number of dead letters for each rule.")
    var count = false

    func run() async throws {
        let environments = try config.environments()
        for environment in environments {
            let name = environments.count > 1 ? environment.configuredBot : nil
            do {
                try await list(environment, name: name)
            } catch let error as CommandError where error.code == .missingInput && name != nil {
                // One of several bots may not have run yet.
                try notes.note("\(name ?? ""): no state yet")
            }
        }
    }

    /// - Parameter name: The bot's name, printed before its dead letters; nil if there is only one bot.
    private func list(_ environment: Environment, name: String?) async throws {
        let json = try environment.isOn(json, "json")
        let count = try environment.isOn(count, "count")
        try await existing(environment).with(.readOnly) { ledger in
            let filter = deadLetters.filter
            if json, !count { return try DeadLetterPages(ledger, filter).writeJSON(bot: name) }
            let counts = DeadLetterCounts(counts: try ledger.deadLetterCounts(filter))
            let prefix = name.map { "\($0): " } ?? ""
            if let name, !json, count || counts.total > 0 { try Console.write(["\(name):"]) }
            if count {
                return try Console.write(
                    json ? counts.json(bot: name) : Array(counts.table.joined(separator: "\n").utf8))
            }
            guard counts.total > 0 else {
                let isAny = filter.isEmpty
                return try notes.note(prefix + (isAny ? "no dead letters" : "no dead letters match these filters"))
            }
            try DeadLetterPages(ledger, filter).writeTable()
            try notes.note(prefix + counts.line)
        }
    }
}
