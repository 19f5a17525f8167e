internal import ArgumentParser

struct CheckpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkpoint",
        abstract: "Show, set or reset the checkpoint: the place in the feed where a bot continues.",
        subcommands: [CheckpointShowCommand.self, CheckpointSetCommand.self, CheckpointResetCommand.self])
}
