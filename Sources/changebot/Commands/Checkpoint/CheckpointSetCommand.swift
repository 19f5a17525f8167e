internal import ArgumentParser
internal import BotState
internal import GatewayClient

struct CheckpointSetCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "set",
        abstract: "Make a bot continue from another place in the feed.",
        discussion: """
            Example: changebot checkpoint set 1200

            The bot must be stopped. Write the sequence as the gateway prints it: a number, or text such as 7-g1AAAA.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions

    @Argument(help: ArgumentHelp("The next run continues after this sequence.", valueName: "seq"))
    var sequence: String

    func run() async throws {
        let state = try existing()
        guard let sequence = SequenceID(self.sequence), sequence.hasKnownForm else {
            throw CommandError(
                .usage,
                "'\(self.sequence.visible)' is not a sequence; write \(SequenceArgument.expected). To skip all changes "
                    + "up to now, start the next run with --since now, but first run: changebot checkpoint reset "
                    + state.options)
        }
        try await state.with(.exclusive) { ledger in
            let before = try ledger.checkpoint()?.sequence
            try await ledger.saveCheckpoint(sequence, reason: "set by hand")
            try notes.note(
                "'\(state.name)' continues after \(sequence.queryValue.visible); "
                    + "the checkpoint was \(before?.queryValue.visible ?? "none")")
        }
    }
}
