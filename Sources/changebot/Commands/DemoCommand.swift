internal import ArgumentParser
internal import Logging

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract:
            "See changebot work: it starts a gateway and a bot, adds tasks and shows the pictures that the bot attaches.",
        discussion: """
            Needs nothing else: it runs inside this process, from any folder, and leaves nothing behind. With --quiet it \
            prints only the three lines 'attached ID NAME SHA256'.
            """)

    @OptionGroup var log: LogOptions

    func run() async throws {
        let environment = Environment()
        let logger = try log.logger(environment, default: .warning)
        try await Demo(logger: logger, isQuiet: try environment.isOn(log.quiet, "quiet")).run()
    }
}
