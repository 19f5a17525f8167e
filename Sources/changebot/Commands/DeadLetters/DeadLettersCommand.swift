internal import ArgumentParser

struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "List, show, retry or drop dead letters: changes that a bot could not process.",
        discussion: """
            changebot dead-letters list
            changebot dead-letters show 12
            changebot dead-letters retry --gateway http://127.0.0.1:4985/todo --rules rules/

            The bot may be running. The dead letters of 'changebot fix' are kept separately: add --name fix-changebot.
            """,
        subcommands: [
            DeadLettersListCommand.self, DeadLettersShowCommand.self, DeadLettersRetryCommand.self,
            DeadLettersDropCommand.self, DeadLettersExportCommand.self,
        ])
}
