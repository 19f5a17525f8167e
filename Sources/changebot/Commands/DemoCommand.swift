internal import ArgumentParser
internal import Logging

struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "See it work: a gateway, a shopping list, a bot, and pictures that appear on tasks.",
        discussion: "Everything happens in memory, inside this process; nothing is left behind.")

    @OptionGroup var log: LogOptions

    func run() async throws {
        do { try await Demo(logger: try log.logger(Environment(), default: .warning)).run() } catch {
            throw CommandFailure(error)
        }
    }
}
