internal import ArgumentParser

struct DeadLettersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dead-letters",
        abstract: "Look at changes that a bot has set aside, try them again, or throw them away.",
        discussion: """
            changebot dead-letters list
            changebot dead-letters show 12
            changebot dead-letters retry --gateway http://127.0.0.1:4985/todo --rules rules/

            The bot may be running meanwhile. What 'changebot fix' sets aside is in a state of its own: add --name \
            fix-changebot.
            """,
        subcommands: [
            DeadLettersListCommand.self, DeadLettersShowCommand.self, DeadLettersRetryCommand.self,
            DeadLettersDropCommand.self, DeadLettersExportCommand.self,
        ])
}
