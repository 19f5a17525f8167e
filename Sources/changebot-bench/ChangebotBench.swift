internal import ArgumentParser
internal import Dispatch
internal import Glibc

/// Runs the work that ``Callgrind`` counts without Swift's concurrency: its threads would be counted too, and valgrind
/// 3.19 crashes when they start.
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

/// `changebot-bench NAME`: reproducible measurements.
struct ChangebotBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "changebot-bench", abstract: "Measure the program and its parts.",
        discussion: """
            Needs the program in the same folder, and the project's folder as the working directory: \
            swift build -c release
            """,
        subcommands: [
            InstructionsCommand.self, WireCommand.self, GatewayCommand.self, FleetCommand.self, KeystrokeCommand.self,
        ])
}
