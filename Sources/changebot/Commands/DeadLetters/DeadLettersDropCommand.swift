internal import ArgumentParser
internal import BotState

struct DeadLettersDropCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Delete dead letters.",
        discussion: """
            changebot dead-letters drop 12 13
            changebot dead-letters drop --rule stamp --since 2h

            Their documents are not changed.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions
    @OptionGroup var selection: DeadLetterSelection
    @OptionGroup var deadLetters: DeadLetterFilterOptions

    @Flag(help: "Delete all dead letters.")
    var all = false

    func run() async throws {
        let filter = deadLetters.filter
        guard [all, !selection.isEmpty, !filter.isEmpty].count(where: { $0 }) == 1 else {
            throw CommandError(
                .usage,
                all || !selection.isEmpty || !filter.isEmpty
                    ? "use only one of: numbers, --all, or --rule/--reason/--since"
                    : "which ones? give numbers, --rule, --reason or --since, or --all")
        }
        let state = try existing()
        let dropped = try await state.with(.shared) { ledger in
            if selection.isEmpty { return try await ledger.dropDeadLetters(filter) }
            return try await ledger.drop(
                selection.deadLetters(in: ledger, found: state.options).compactMap(\.ledgerRecord?.number))
        }
        try notes.note("dropped \(Quantity.count(dropped, "dead letter"))")
    }
}
