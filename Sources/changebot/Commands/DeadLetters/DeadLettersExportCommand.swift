internal import ArgumentParser
internal import BotState

struct DeadLettersExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write dead letters to stdout, one JSON object per line.",
        discussion: "Example: changebot dead-letters export > dead-letters.ndjson")

    @OptionGroup var bot: ExistingStateOptions
    @OptionGroup var deadLetters: DeadLetterFilterOptions

    func run() async throws {
        try await bot.existing().with(.readOnly) { ledger in
            try DeadLetterPages(ledger, deadLetters.filter).writeJSON()
        }
    }
}
