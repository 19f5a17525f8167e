internal import ArgumentParser
internal import BotState
internal import GatewayClient

struct TraceCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "trace",
        abstract: "Show what a bot did to a document, and when.",
        discussion: """
            changebot run --gateway http://127.0.0.1:4985/todo --rules rules/ --trace-days 7
            changebot trace task-17

            The oldest entry comes first. Entries contain names, ids and revisions, and no values of documents. Those of \
            'fix', and of passes over all documents, are shown too.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions

    @Argument(help: "The id of the document.")
    var id: String

    @Flag(help: "Print one JSON object per line.")
    var json = false

    func run() async throws {
        let environment = try config.environment()
        let json = try environment.isOn(json, "json")
        let state = try existing(environment)
        let trace = try await DocumentTrace(DocumentID(id), in: state)
        guard !trace.entries.isEmpty else { return try notes.note(trace.absence) }
        for entry in trace.entries {
            if json { try Console.write(entry.json(of: id)) } else { try Console.write([entry.line]) }
        }
    }
}
