internal import ArgumentParser
internal import BotState

struct CheckpointShowCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a bot's checkpoint, its history, and what else the state holds.",
        discussion: """
            Example: changebot checkpoint show --name pictures

            The bot may be running. Long sequences are shortened; --json shows them whole.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() async throws {
        let environment = try config.environment()
        let json = try environment.isOn(json, "json")
        let state = try existing(environment)
        let report = try await state.with(.readOnly) { try CheckpointReport($0, of: state) }
        if json { try Console.write(report.json) } else { try Console.write(report.lines) }
    }
}
