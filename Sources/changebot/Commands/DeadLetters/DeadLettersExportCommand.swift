internal import ArgumentParser
internal import BotState

struct DeadLettersExportCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write dead letters to stdout, one JSON object per line.",
        discussion: "Example: changebot dead-letters export > dead-letters.ndjson")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions
    @OptionGroup var deadLetters: DeadLetterFilterOptions

    func run() async throws {
        try await existing().with(.readOnly) { ledger in
            try DeadLetterPages(ledger, deadLetters.filter).writeJSON()
        }
    }
}
