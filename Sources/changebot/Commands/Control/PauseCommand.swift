internal import ArgumentParser
internal import BotState

struct PauseCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause",
        abstract: "Let a bot leave out rules until they are resumed.",
        discussion: """
            changebot pause tell-billing
            changebot resume tell-billing

            A running bot takes up the order within seconds; otherwise it takes effect at the next start. A paused rule \
            does not fire. Nothing is lost: 'resume' gives it the changes that it missed.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions
    @OptionGroup var rules: RuleNames

    func run() async throws {
        let state = try existing()
        try await state.ordering { ledger in
            let known = try KnownRules(ledger, of: state)
            try known.require(rules.unique)
            try known.requirePausable(rules.unique)
            let changes = try await ledger.pause(rules.unique)
            let report = OrderReport(ledger, state)
            for (rule, change) in zip(rules.unique, changes) { try notes.note(report.text(rule, change)) }
        }
    }
}
