internal import ArgumentParser
internal import BotState
internal import FoundationEssentials
internal import Glibc
internal import JQ
internal import SyncFunctions

/// The program: hides secrets on the command line, parses it, runs a command, and exits with an ``ExitStatus`` code.
@main
struct Changebot: AsyncParsableCommand {
    static let version = ProgramVersion.current

    static let configuration = CommandConfiguration(
        commandName: "changebot",
        abstract: "Apply rules to the changes feed of a document gateway (Couchbase Sync Gateway, Apache CouchDB).",
        discussion: """
            See it work:  changebot demo
            Use it:       changebot run --gateway http://127.0.0.1:4985/todo --rules rules/
            Several bots: changebot run --config changebot.yaml

            Credentials come from the environment: CHANGEBOT_USER with CHANGEBOT_PASSWORD or CHANGEBOT_PASSWORD_FILE, or \
            CHANGEBOT_TOKEN. Nearly every option can be set there too: --retry-for is CHANGEBOT_RETRY_FOR.
            """,
        version: BuildCommit.current.line(version: version),
        subcommands: [
            RunCommand.self, FixCommand.self, RulesCommand.self, CheckpointCommand.self, DeadLettersCommand.self,
            StatusCommand.self, PauseCommand.self, ResumeCommand.self, BackfillCommand.self, TraceCommand.self,
            ListCommand.self,
            FleetCommand.self, ConfigCommand.self,
            ExportCommand.self, ImportCommand.self, VerifyCommand.self, ReplicateCommand.self, ResolveCommand.self,
            DoctorCommand.self,
            GatewayCommand.self, ServiceCommand.self, DemoCommand.self,
        ])

    static func main() async {
        Memory.settle()
        // Helper processes, which run jq programs or a sync function, do nothing else.
        JQHelper.serveIfAsked()
        SyncFunctionHelper.serveIfAsked()
        // Without root, libdispatch can't raise the priority of its threads, and would log that for each one to syslog.
        setenv("LIBDISPATCH_LOG", "NO", 0)
        // A closed connection or pipe must fail only that operation, not end the process.
        signal(SIGPIPE, SIG_IGN)
        // The same goes for a file that reaches the size limit.
        signal(SIGXFSZ, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        EarlySignal.install(for: arguments.first)
        ProcessTitle.hideCredentials()
        let command: any ParsableCommand
        do {
            if let unknown = UsageError.UnknownCommand(arguments), !unknown.name.hasPrefix("-") {
                refuse(unknown.message, arguments)
            }
            command = try parseCommand(arguments)
        } catch {
            if exitCode(for: error) == .success { show(error) }
            refuse(UsageError.withFullName(fullMessage(for: error), of: NamedCommand(arguments).path), arguments)
        }
        await run(command)
    }

    /// Parses with the subcommand that the arguments name: starting at the root, the parser would build that command's
    /// options three times. Help and errors still come from the root, which knows the command's full name. For help
    /// requests, the parser returns a command of a different type.
    ///
    /// If the command's parent has options of its own, only the command can be parsed: the root would give the parent
    /// its options.
    static func parseCommand(_ arguments: [String]) throws -> any ParsableCommand {
        let named = NamedCommand(arguments)
        do {
            let parsed = try named.type.parseAsRoot(Array(named.rest))
            if type(of: parsed) == named.type { return parsed }
        } catch {
            if named.type.configuration._superCommandName != nil { throw error }
        }
        return try parseAsRoot(arguments)
    }

    /// The command that arguments begin with.
    struct NamedCommand {
        private(set) var type: any ParsableCommand.Type = Changebot.self
        /// Its name after those of its parents: `changebot`, `export`, `merge`.
        private(set) var path = [Changebot.name]
        /// The arguments after its name.
        private(set) var rest: ArraySlice<String>

        init(_ arguments: [String]) {
            rest = arguments[...]
            while let name = rest.first, let next = type.configuration.subcommands.first(where: { $0.name == name }) {
                type = next
                path.append(name)
                rest = rest.dropFirst()
            }
        }
    }

    /// Runs a command. Commands may throw any error; here it becomes messages and an exit code.
    private static func run(_ command: any ParsableCommand) async {
        do {
            if var asynchronous = command as? any AsyncParsableCommand {
                try await asynchronous.run()
            } else {
                var command = command
                try command.run()
            }
        } catch {
            if exitCode(for: error) == .success { show(error) }
            let failure = CommandError(error)
            failure.report()
            failure.code.exit()
        }
    }

    /// Prints help, the version or a completion script on stdout.
    private static func show(_ request: any Error) -> Never {
        for line in CompletionScript.improved(fullMessage(for: request)).visibleLines { Console.print(line) }
        ExitStatus.done.exit()
    }

    /// Reports on stderr what is wrong with the arguments.
    private static func refuse(_ message: String, _ arguments: [String]) -> Never {
        UsageError(message, arguments).report()
        ExitStatus.usage.exit()
    }
}
