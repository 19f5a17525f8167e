internal import ArgumentParser
internal import CEmbeddedFiles
internal import Encodings
internal import Glibc
internal import LanguageServer
internal import Locking
internal import Outside
internal import RuleEditing

struct RulesLSPCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lsp",
        abstract: "Serve editors: errors, completion, descriptions and tests of rule files.",
        discussion: """
            An editor starts it as a language server, and exchanges messages with it over stdin and stdout. The page \
            on editors has the settings for VS Code, Neovim and Helix.
            """)

    @Flag(help: "No effect: for editors that add it to the command of a language server.")
    var stdio = false

    func run() async throws {
        if isatty(STDIN_FILENO) == 1 {
            Console.warn(
                "changebot: rules lsp is waiting for the messages of an editor on stdin; to check files yourself, use "
                    + "changebot rules check FILE")
        }
        let context = try EditingContext(schema: rule_file_schema.content) { $0.emitWarnings() }
        let input = Input()
        let server = LanguageServer(
            context: context, version: Changebot.version, now: { Timestamp.secondsNow },
            write: { FileDescriptor.standardOutput.write($0) })
        let code = await server.run { await input.read() }
        Glibc.exit(code)
    }
}

/// Waits for bytes of stdin, without blocking the threads shared by all tasks.
private actor Input {
    private nonisolated let executor = BlockingExecutor("input")
    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    func read() -> [UInt8] { FileDescriptor.standardInput.read(upTo: 64 << 10) ?? [] }
}
