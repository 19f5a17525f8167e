internal import ArgumentParser
internal import Pipeline

struct DeadLettersListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List dead letters.",
        discussion: """
            changebot dead-letters list --rule stamp --since 2h
            changebot dead-letters list --reason 'not allowed' --json
            changebot dead-letters list --count

            The number of dead letters of each rule goes to stderr at the end; --count prints only that, with --json \
            as {"dead_letters":3,"rules":{"stamp":2},"no_rule":1}.
            """)

    @OptionGroup var bot: ExistingStateOptions
    @OptionGroup var deadLetters: DeadLetterFilterOptions

    @Flag(help: "Print one JSON object per line, like 'export'.")
    var json = false

    @Flag(help: "Print only the number of dead letters of each rule.")
    var count = false

    func run() async throws {
        let environment = try bot.config.environment()
        let json = try environment.isOn(json, "json")
        let count = try environment.isOn(count, "count")
        try await bot.existing(environment).with(.readOnly) { ledger in
            let filter = deadLetters.filter
            if json, !count { return try DeadLetterPages(ledger, filter).writeJSON() }
            let counts = DeadLetterCounts(counts: try ledger.deadLetterCounts(filter))
            if count {
                return try Console.write(json ? counts.json : Array(counts.table.joined(separator: "\n").utf8))
            }
            guard counts.total > 0 else {
                return try bot.notes.note(filter.isEmpty ? "no dead letters" : "no dead letters match these filters")
            }
            try DeadLetterPages(ledger, filter).writeTable()
            try bot.notes.note(counts.line)
        }
    }
}
