internal import ArgumentParser
internal import CEmbeddedFiles
internal import Encodings
internal import GatewayClient
internal import Logging
internal import LosslessJSON
internal import Outside
internal import RulePlay
internal import Rules
internal import ServiceLifecycle
internal import Transfer

struct RulesPlayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Write rules in a browser, and see at once what they do to sample documents.",
        discussion: """
            Example: changebot rules play pictures.yaml --input documents.ndjson

            Prints the address of a page that only this machine can open, and opens it in the browser if there is one. \
            A file that does not exist yet is created when the page saves it. Nothing is ever written to a gateway, and \
            no webhook is sent. It runs until it is stopped, for example with Ctrl-C.
            """)

    @Argument(
        help: ArgumentHelp(
            "Rule files, or folders of rule files. A new file needs a name that ends with .yaml.",
            valueName: "path"), completion: .yamlFile)
    var paths: [String]

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Sample documents; - for stdin. Default: those of the tests.", valueName: "file"),
        completion: .file())
    var input: String?

    @OptionGroup var form: InputOptions

    @Option(
        help: ArgumentHelp(
            "Where to listen, on this machine. Port 0 picks a free port. Default: 127.0.0.1:0.",
            valueName: "host:port"))
    var listen: String?

    @Flag(help: "Only print the address, without opening a browser.")
    var noOpen = false

    @OptionGroup var now: NowOption
    @OptionGroup var gateway: GatewayOptions
    @OptionGroup var access: AccessOptions
    @OptionGroup var log: LogOptions

    func run() async throws {
        let environment = Environment()
        let logger = try log.logger(environment, default: .warning, isDaemon: true)
        let address = try ListenAddress(listen ?? "127.0.0.1:0", option: "listen")
        guard address.isLoopback else {
            throw CommandError(
                .usage,
                "--listen \(listen ?? ""): the page can write the rule files, so it listens on this machine only; write "
                    + "127.0.0.1:0")
        }
        var settings = try settings(environment)
        try readSamples(into: settings.samples, environment)
        // Only with the option: the variable may be set for other commands.
        guard gateway.address != nil else { return try await serve(settings, address, logger) }
        let choice = try gateway.choice(environment)
        try choice.requireFile()
        try await GatewayConnection(choice, for: .existing, access, environment, logger).with { gateway in
            let picker = SamplePicker(gateway: gateway)
            settings.gateway = ("\(gateway.url)", { try await picker.pick($0, $1) })
            try await serve(settings, address, logger)
        }
    }

    /// What the page needs, without documents and gateway.
    func settings(_ environment: Environment) throws -> PlaySettings {
        let fixed = try environment.value(now.now, "now", parse: PointInTimeArgument.init(argument:))?.seconds
        var settings = PlaySettings(
            version: "\(Changebot.version)", files: try PlayFile.all(paths), page: rules_page.content,
            schema: rule_file_schema.content, diff: { DocumentDiff.lines(before: $0, after: $1) },
            write: { try OutputFile.writeUnlessProtected($0, to: $1) }, now: { fixed ?? Timestamp.secondsNow })
        settings.recipes = Recipe.all.map(PlayRecipe.init)
        settings.furtherWarnings = { $0.emitWarnings() }
        return settings
    }

    private func readSamples(into samples: SampleStore, _ environment: Environment) throws {
        guard let input else { return }
        do {
            var source = try DocumentSource(
                path: input, format: form.format(environment), delimiter: form.delimiter(for: input, environment))
            while let item = try source.next() {
                switch item {
                case .error(let error):
                    samples.leaveOut("\(input):\(error.message)")
                    Console.warn("\(input):\(error.message)")
                case .document(let document):
                    if samples.add(Sample(document.text, origin: "\(input):\(document.line)", group: "From \(input)")) {
                        continue
                    }
                    return Console.warn(
                        "\(input): warning: the page takes at most \(SampleStore.countLimit) documents, and "
                            + "\(SampleStore.byteLimit >> 20) MiB; only the first \(samples.count) are used")
                }
            }
        } catch let error as SourceError {
            throw CommandError(error, input)
        }
    }

    private func serve(_ settings: PlaySettings, _ address: ListenAddress, _ logger: Logger) async throws {
        try await StoppableService.run(grace: .seconds(5), logger: logger) {
            let server = try await PlayServer(settings, host: address.host, port: address.port)
            let opener = noOpen ? nil : PageOpener()
            Console.print(server.url)
            opener?.open(server.url)
            try? await gracefulShutdown()
            opener?.remove()
            await server.stop()
        }
    }
}

extension PlayFile {
    /// The rule files at these paths, each once. A path that does not exist yet is a new file.
    ///
    /// - Throws: ``CommandError`` with 66 if a folder is missing or has no rule files.
    static func all(_ paths: [String]) throws(CommandError) -> [PlayFile] {
        var files: [String] = []
        for path in paths {
            do throws(FileError) { files += try RulePath.files(at: path) } catch {
                guard case .missing = error else { throw CommandError(.missingInput, error.description) }
                files.append(try newFile(path))
            }
        }
        var seen: Set<ExactString> = []
        return files.filter { seen.insert(ExactString(OutputPath.resolved($0))).inserted }.map(PlayFile.init)
    }

    private static func newFile(_ path: String) throws(CommandError) -> String {
        guard RulePath.isRuleFile(path) else {
            throw CommandError(
                .missingInput, "'\(path)' does not exist; correct the path, or name a new file that ends with .yaml")
        }
        do throws(CommandError) { try OutputFile.check(path) } catch {
            throw CommandError(.missingInput, listing: error.messages, isListing: false)
        }
        return path
    }
}
