internal import ArgumentParser
internal import GatewayClient
internal import Pipeline

struct CheckpointResetCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reset",
        abstract: "Take a bot's checkpoint away, so that it starts as a new one.",
        discussion: """
            Example: changebot checkpoint reset

            The bot must be stopped. Its next run starts at the beginning of the feed, or at --since. Documents that these \
            rules wrote are still not decided again, and dead letters stay.
            """)

    @OptionGroup var state: ExistingStateOptions

    func run() async throws {
        do { try await reset() } catch { throw CommandFailure(error) }
    }

    private func reset() async throws {
        let state = try state.existing(Environment())
        try await state.with(.alone) { ledger in
            guard let before = try ledger.checkpoint()?.sequence else {
                // Also for a state that has none: a copy beside the database must not stand in for it.
                try await ledger.resetCheckpoint(reason: "reset by hand")
                Console.complain(
                    "'\(state.name)' had no checkpoint; its next run starts at the beginning, or at --since")
                return
            }
            try await ledger.resetCheckpoint(reason: "reset by hand")
            Console.complain(
                "'\(state.name)' starts at the beginning, or at --since; "
                    + "to undo this: changebot checkpoint set '\(before.queryValue.visible)'")
        }
    }
}
