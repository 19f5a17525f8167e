internal import ArgumentParser
internal import DocumentFlow
internal import EmbeddedGateway
internal import FoundationEssentials
internal import Logging
internal import Rules
internal import ServiceLifecycle

struct GatewayCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "gateway",
        abstract: "Serve a small embedded gateway, for development, demos and tests.",
        discussion: """
            It has Sync Gateway's REST API and stores documents in a SQLite file. Without --config, anyone who can \
            connect can read and write everything. --faults injects faults described in a file, so you can test rules \
            and settings against them.

            Example: changebot gateway --listen 127.0.0.1:4985 --database todo --data todo.sqlite
            """)

    @Option(
        help: ArgumentHelp(
            "Where to listen. Port 0 picks a free port. Default: 127.0.0.1:4985.", valueName: "host:port")
    )
    var listen: String?

    @Option(
        help: ArgumentHelp(
            "Where to listen for administrators, who may do everything. Default: nowhere.", valueName: "host:port")
    )
    var adminListen: String?

    @Option(help: ArgumentHelp("The name of the database. Default: todo.", valueName: "name"))
    var database: String?

    @Option(
        help: ArgumentHelp(
            "The SQLite file for the documents. Default: in memory, lost when the gateway stops.", valueName: "file"),
        completion: .file())
    var data: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "Users, roles, GUEST and the sync function, in the format of Sync Gateway's configuration: databases.NAME.users and so on.",
            valueName: "file"), completion: .file())
    var config: String?

    @Option(
        help: ArgumentHelp(
            "A file with faults to inject, as YAML or JSON: latency, cut connections, lost responses, 503s and more.",
            valueName: "file"), completion: .yamlFile)
    var faults: String?

    @Flag(help: "Keep several leaf revisions of a document, as CouchDB does. Default: refuse them as conflicts.")
    var allowConflicts = false

    @Flag(
        help:
            "Let clients create and delete further databases (PUT and DELETE /NAME), and announce their changes as CouchDB does. They are in memory and have no users."
    )
    var manyDatabases = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("How long the gateway may take to stop. Default: 30s.", valueName: "duration"),
        transform: TimeSpan.parse)
    var shutdownGrace: TimeSpan?

    @OptionGroup var log: LogOptions

    func run() async throws {
        let environment = Environment()
        let logger = try log.logger(environment, isDaemon: true)
        OpenFiles.raiseLimit()
        let place = try ListenAddress(listen ?? environment["listen"] ?? "127.0.0.1:4985", option: "listen")
        var files = DistinctFiles(outputs: [("--data", data ?? environment["data"])])
        files.inputs = [
            ("--config", config ?? environment["gateway-config"]), ("--faults", faults ?? environment["faults"]),
        ]
        try files.check()
        let grace = try environment.value(shutdownGrace, "shutdown-grace", parse: TimeSpan.init(argument:))
        let name = database ?? environment["database"] ?? "todo"
        guard EmbeddedGateway.isDatabaseName(name) else {
            throw CommandError(
                .usage, "--database '\(name)' is not valid: write \(EmbeddedGateway.databaseNameAdvice)")
        }
        var configuration = EmbeddedGateway.Configuration(
            database: name,
            storage: (data ?? environment["data"]).map { .file($0) } ?? .memory,
            host: place.host, port: place.port, logger: logger)
        if let text = adminListen ?? environment["admin-listen"] {
            let place = try ListenAddress(text, option: "admin-listen")
            configuration.administration = (place.host, place.port)
        }
        configuration.logsRequests = true
        configuration.allowsConflicts = try environment.isOn(allowConflicts, "allow-conflicts")
        configuration.hostsFurtherDatabases = try environment.isOn(manyDatabases, "many-databases")
        if let file = config ?? environment["gateway-config"] {
            configuration.users = try Self.users(file, of: configuration.database)
        }
        if let file = faults ?? environment["faults"] { configuration.faults = try Self.faults(file) }
        let service = EmbeddedGatewayService(gateway: EmbeddedGateway(configuration), logger: logger)
        try await StoppableService.run(grace: grace?.duration ?? StoppableService.defaultGrace, logger: logger) {
            try await service.run()
        }
    }

    /// - Throws: ``CommandError`` with 66 if the file can't be read, 78 if it is not valid.
    private static func users(_ file: String, of database: String) throws(CommandError) -> EmbeddedGateway.Users {
        let text = try InputLines.whole(file)
        do throws(EmbeddedGateway.UsersError) {
            return try EmbeddedGateway.Users.parse(text, database: database)
        } catch {
            throw CommandError(.badConfiguration, "\(file):\(error)", isListing: true)
        }
    }

    /// - Throws: ``CommandError`` with 66 if the file can't be read, 65 if it is not valid.
    private static func faults(_ file: String) throws(CommandError) -> FaultPlan {
        let bytes = try InputLines.whole(file)
        let yaml: LocatedJSON?
        do throws(RuleFilesError) {
            let beginning = "a faults file has 'faults:' with a list of faults"
            yaml = file.hasSuffix(".json") ? nil : try LocatedJSON(yaml: bytes, path: file, beginning: beginning)
        } catch {
            throw CommandError(error)
        }
        do throws(FaultPlanError) { return try FaultPlan.parse(yaml?.text ?? bytes) } catch {
            let messages = error.mistakes.map { mistake in
                let place = yaml?.position(at: mistake.offset)
                return "\(file):\(place?.line ?? mistake.line):\(place?.column ?? mistake.column): \(mistake.reason)"
            }
            throw CommandError(.invalidData, listing: messages)
        }
    }
}

/// Serves until it is asked to stop. Prints a line on stdout when it is ready: scripts wait for it.
private struct EmbeddedGatewayService {
    let gateway: EmbeddedGateway
    let logger: Logger

    func run() async throws {
        for (name, text) in gateway.configuration.faults?.descriptions ?? [] {
            logger.warning("fault enabled", metadata: [LogKey.fault: "\(name)", LogKey.what: "\(text)"])
        }
        let address = try await gateway.start()
        if let url = address.administrationURL { Console.print("administrators: \(url)") }
        Console.print("listening on \(address.url)")
        try? await gracefulShutdown()
        await gateway.stop()
        for (name, count) in gateway.faultCounts.sorted(by: { $0.key < $1.key }) {
            logger.notice("faults injected", metadata: [LogKey.fault: "\(name)", LogKey.times: "\(count)"])
        }
    }
}
