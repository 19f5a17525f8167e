internal import ArgumentParser

struct CheckpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "checkpoint",
        abstract: "Show or move the place in the feed from which a bot goes on.",
        subcommands: [CheckpointShowCommand.self, CheckpointSetCommand.self, CheckpointResetCommand.self])
}
