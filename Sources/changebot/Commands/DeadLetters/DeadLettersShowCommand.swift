internal import ArgumentParser
internal import BotState

struct DeadLettersShowCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show all details of dead letters.",
        discussion: "Example: changebot dead-letters show 12")

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions
    @OptionGroup var selection: DeadLetterSelection

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() async throws {
        guard !selection.isEmpty else {
            throw CommandError(.usage, "which one? give its number, or the id of its document")
        }
        let environment = try config.environment()
        let json = try environment.isOn(json, "json")
        let state = try existing(environment)
        let deadLetters = try await state.with(.readOnly) { try selection.deadLetters(in: $0, found: state.options) }
        for (index, deadLetter) in deadLetters.enumerated() {
            guard !json else {
                try Console.write(DeadLetterText.json(deadLetter))
                continue
            }
            try Console.write((index > 0 ? [""] : []) + DeadLetterText.lines(deadLetter))
        }
    }
}
