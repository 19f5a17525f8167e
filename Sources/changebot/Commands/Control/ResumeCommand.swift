internal import ArgumentParser
internal import BotState

struct ResumeCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume",
        abstract: "Let a bot apply paused rules again.",
        discussion: """
            changebot resume tell-billing
            changebot resume tell-billing --skip

            A resumed rule fires on new changes at once, and the bot gives it the changes that it missed: the documents \
            that have changed since the pause, as they are now. With --skip, it does not. If the rule already makes up for \
            changes, --skip ends that.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions
    @OptionGroup var rules: RuleNames

    @Flag(help: "Do not give the rules the changes that they missed.")
    var skip = false

    func run() async throws {
        let state = try existing()
        try await state.ordering { ledger in
            try KnownRules(ledger, of: state).require(rules.unique, orPaused: true)
            let changes = try await ledger.resume(rules.unique, skips: skip)
            let report = OrderReport(ledger, state)
            for (rule, change) in zip(rules.unique, changes) { try notes.note(report.text(rule, change)) }
        }
    }
}
