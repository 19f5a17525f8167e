internal import ArgumentParser
internal import Dispatch
internal import Glibc

/// Starts without Swift's concurrency what ``Callgrind`` counts: its threads would be counted too, and valgrind 3.19
/// crashes when they start.
@main
enum Start {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == WorkCommand.name {
            WorkCommand.main(Array(arguments.dropFirst()))
        } else {
            Task {
                await ChangebotBench.main()
                exit(0)
            }
            dispatchMain()
        }
    }
}

/// `changebot-bench NAME`: measurements that anyone can repeat.
struct ChangebotBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changebot-bench",
        abstract: "Measure the program and its parts.",
        discussion: """
            Most need the program beside this one, and the project's folder as the working directory: \
            swift build -c release
            """,
        subcommands: [
            ScannerCommand.self, RulesCommand.self, BotCommand.self, PageCommand.self, WireCommand.self,
            GatewayCommand.self, FleetCommand.self, InstructionsCommand.self,
        ])
}

struct ScannerCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scanner", abstract: "Change rows through the JSON scanner, against json-c and memcpy.")

    func run() throws { if !ScannerBenchmark.run() { throw ExitCode(1) } }
}

struct RulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rules", abstract: "The program over 100,000 documents: full passes, many rules.")

    func run() async throws { if await !RulesBenchmark.run() { throw ExitCode(1) } }
}

struct BotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bot", abstract: "The program beside an embedded gateway: catching up, latency.")

    func run() async throws { if await !BotBenchmark.run() { throw ExitCode(1) } }
}

struct PageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "page", abstract: "What --http and hundreds of readers of the page cost a bot.")

    func run() async throws { if await !PageBenchmark.run() { throw ExitCode(1) } }
}
