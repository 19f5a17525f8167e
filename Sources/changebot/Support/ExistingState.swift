internal import ArgumentParser
internal import BotState
internal import Encodings
internal import Transfer

/// A command that shows or changes the state of a bot that has run before.
protocol ExistingStateCommand: AsyncParsableCommand {
    var config: ConfigOptions { get }
    var state: StateOptions { get }
    var database: StateDatabaseOption { get }
    var notes: NoteOptions { get }
}

/// The option that selects one of several states of a bot.
struct StateDatabaseOption: ParsableArguments {
    @Option(
        name: [.customShort("g"), .customLong("gateway")],
        help: ArgumentHelp(
            "Select the state of the database at this URL, if the bot has several. No request is sent.",
            valueName: "url"))
    var address: String?

    @Option(
        name: .customLong("database"),
        help: ArgumentHelp(
            "Select one of the databases of a bot that follows many, by its name.", valueName: "name"))
    var name: String?
}

extension ExistingStateCommand {
    /// - Throws: ``CommandError`` with 64 for an invalid name or address; also for errors in the configuration file.
    func existing() throws -> ExistingState { try existing(config.environment()) }

    /// - Throws: ``CommandError`` with 64 for an invalid name or address.
    func existing(_ environment: Environment) throws(CommandError) -> ExistingState {
        // Variables apply to all commands, so this one only selects among several states.
        let text = database.address ?? environment["gateway"]
        let choice: GatewayChoice? = if let text { try GatewayChoice(text) } else { nil }
        let catalogue = StateCatalogue(
            directory: state.directory(environment), name: try state.botName(environment),
            engine: try state.engine(environment))
        let reference = state.reference(environment, gateway: database.address)
        if let name = database.name {
            return ExistingState(
                catalogue: catalogue.of(database: name), address: nil, isHint: true, reference: reference,
                configuration: environment.configurationPath, database: name, bot: catalogue)
        }
        return ExistingState(
            catalogue: catalogue, address: choice?.hasPlaceholder == true ? nil : choice?.stateAddress,
            isHint: database.address == nil, reference: reference, configuration: environment.configurationPath)
    }
}

/// The state of a bot that has run before.
struct ExistingState {
    let catalogue: StateCatalogue
    /// The address of the database; nil if the bot has only one state.
    let address: String?
    /// Whether the address comes from the environment, so it only selects among several states.
    let isHint: Bool
    let reference: StateReference
    /// The configuration file that names the bot; nil if there is none.
    var configuration: String?
    /// The database's name, if the bot follows many.
    var database: String?
    /// The states of the bot that follows many databases.
    var bot: StateCatalogue?

    var name: String { catalogue.name }

    /// The command-line options that select this state.
    var options: String {
        guard let address, !isHint else { return reference.options(catalogue) }
        return reference.options(catalogue, address: address)
    }

    /// What a bot that follows many databases knows about them; nil for a bot that follows one.
    ///
    /// - Throws: `StateError`.
    func knownDatabases() throws(StateError) -> [String: DatabaseIndex.Entry]? {
        let catalogue = bot ?? catalogue
        return try DatabaseIndex.entries(in: catalogue.directory, named: catalogue.name)
    }

    /// Opens the state, and calls `body`, which gives the bot orders. Then tells the bot which of its databases has them.
    ///
    /// - Throws: As ``with(_:_:)``.
    func ordering(_ body: (Ledger) async throws -> Void) async throws {
        try await with(.shared, body)
        guard let bot, let database else { return }
        try DatabaseIndex.leaveOrder(in: bot.directory, named: bot.name, of: database)
    }

    /// Opens the state, calls `body` and closes it.
    ///
    /// - Throws: ``CommandError`` with 66 if there is no state, 64 if there are several and none is selected, 75 if
    ///   exclusive access is needed and a run is using the state.
    func with<Result>(
        _ access: Ledger.Access, _ body: (Ledger) async throws -> Result
    ) async throws -> Result {
        let ledger = try open(access)
        defer { ledger.close() }
        guard access == .exclusive, let engine = catalogue.engine else { return try await body(ledger) }
        return try await engine.renewingLease { try await body(ledger) }
    }

    /// What is wrong with a bot of a configuration file that has no state at all. Nil for others.
    private var messageBeforeTheFirstRun: String? {
        guard let configuration, catalogue.engine == nil, (try? catalogue.states())?.isEmpty == true else { return nil }
        return
            "the bot '\(name)' of \(configuration) has not run yet: it has no state in \(catalogue.directory); start "
            + "it with changebot run --config \(configuration.shellWord), or name its folder with --state"
    }

    /// What is wrong with a bot that is running and has no state yet. Nil for others.
    private var messageBeforeTheFirstAnswer: String? {
        guard catalogue.engine == nil, (try? catalogue.states())?.isEmpty == true,
            let bot = RunningBot.all(in: catalogue.directory, named: name).first
        else { return nil }
        return
            "the bot '\(name)' is running (process \(bot.process)), but has no state yet: it creates the state once "
            + "\(bot.gateway) has answered; see what it waits for with: changebot status \(options)"
    }

    private func open(_ access: Ledger.Access) throws(CommandError) -> Ledger {
        do throws(StateError) {
            return try catalogue.openExisting(address: address, isHint: isHint, access: access)
        } catch {
            if case .missing = error, let database {
                throw CommandError(
                    .missingInput,
                    "the bot '\(name)' has no state for a database '\(database)' in \(catalogue.directory)")
            }
            if case .missing = error, database == nil, (try? knownDatabases()) != nil {
                throw CommandError(
                    .usage,
                    "the bot '\(name)' has a state for each of its databases: choose one with --database NAME; "
                        + "changebot status \(options) shows the databases that need attention")
            }
            if case .missing = error, let message = messageBeforeTheFirstAnswer ?? messageBeforeTheFirstRun {
                throw CommandError(.missingInput, message)
            }
            guard case .locked(let holder) = error, access == .exclusive else { throw CommandError(error) }
            let process = holder.isEmpty ? "in an unknown process" : holder
            throw CommandError(.temporaryFailure, "a run is using the state '\(name)' (\(process)); stop it first")
        }
    }
}
