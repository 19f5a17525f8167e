internal import ArgumentParser
internal import BotState
internal import Encodings
internal import GatewayClient
internal import Transfer

struct CheckpointResetCommand: ExistingStateCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Delete a bot's checkpoint, so that it starts over.",
        discussion: """
            Example: changebot checkpoint reset

            The bot must be stopped. Its next run starts at the beginning of the feed, or at --since. Revisions that the \
            same rules wrote are still skipped, and dead letters are kept.
            """)

    @OptionGroup var config: ConfigOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var database: StateDatabaseOption
    @OptionGroup var notes: NoteOptions

    func run() async throws {
        let state = try existing()
        try await state.with(.exclusive) { ledger in
            guard let before = try ledger.checkpoint()?.sequence else {
                // Recorded even without a checkpoint: otherwise the next run would use the copy in the database.
                try await ledger.resetCheckpoint(reason: "reset by hand")
                try notes.note(
                    "'\(state.name)' had no checkpoint; its next run starts at the beginning, or at --since")
                return
            }
            try await ledger.resetCheckpoint(reason: "reset by hand")
            try notes.note(
                "'\(state.name)' starts at the beginning, or at --since; "
                    + "to undo this: changebot checkpoint set \(before.queryValue.shellWord) \(state.options)"
            )
        }
    }
}
