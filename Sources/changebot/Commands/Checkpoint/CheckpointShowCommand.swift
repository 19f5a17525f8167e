internal import ArgumentParser
internal import Pipeline

struct CheckpointShowCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show a bot's checkpoint, where it came from, and what else its state holds.",
        discussion: """
            Example: changebot checkpoint show --name pictures

            The bot may be running meanwhile.
            """)

    @OptionGroup var state: ExistingStateOptions

    @Flag(help: "One JSON object.")
    var json = false

    func run() async throws {
        do {
            let state = try state.existing(Environment())
            let report = try await state.with(.beside) { try CheckpointReport($0, of: state) }
            try Console.write(json ? report.json : Array(report.lines.joined(separator: "\n").utf8))
        } catch {
            throw CommandFailure(error)
        }
    }
}
