internal import ArgumentParser
internal import Foundation
internal import JQ

/// The program: reads the command line, hides what is secret in it, runs a command, ends with an exit code of the
/// contract.
@main
struct Changebot: AsyncParsableCommand {
    static let version = "0.1.0"

    static let configuration = CommandConfiguration(
        commandName: "changebot",
        abstract: "Rules on the changes feed of a document gateway.",
        discussion: """
            changebot demo                      see it work, with nothing else installed
            changebot run --gateway http://127.0.0.1:4985/todo --rules rules/

            Credentials: CHANGEBOT_USER with CHANGEBOT_PASSWORD or CHANGEBOT_PASSWORD_FILE, or CHANGEBOT_TOKEN.
            """,
        version: version,
        subcommands: [
            RunCommand.self, FixCommand.self, RulesCommand.self, CheckpointCommand.self, DeadLettersCommand.self,
            ExportCommand.self, ImportCommand.self, VerifyCommand.self, GatewayCommand.self, DemoCommand.self,
        ])

    static func main() async {
        Memory.settle()
        // As a helper of another changebot it does nothing else.
        JQHelper.serveIfAsked()
        // A gateway or a pipe that goes away is an error of that exchange, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        // So is a file that may not grow any more.
        signal(SIGXFSZ, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        ProcessTitle.hideCredentials()
        do {
            var command = try parseAsRoot(arguments)
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            failure.report()
            failure.code.exit()
        } catch {
            // Help and the version on stdout with 0; what is wrong with the arguments on stderr with 64.
            let code = exitCode(for: error)
            let message = ProcessTitle.redacted(fullMessage(for: error))
            code == .success ? Console.print(message) : Console.complain(message)
            Foundation.exit(code.rawValue)
        }
    }
}
