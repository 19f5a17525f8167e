internal import ArgumentParser
internal import Pipeline
internal import Transfer

/// Which state a command looks at or changes.
struct ExistingStateOptions: ParsableArguments {
    @OptionGroup var state: StateOptions

    @Option(
        name: .customLong("gateway"),
        help: ArgumentHelp(
            "Choose the state of the database at this URL, if the bot has several. No request is sent.",
            valueName: "url"))
    var address: String?

    /// - Throws: 64 for a name or an address that is none.
    func existing(_ environment: Environment) throws(CommandError) -> ExistingState {
        // A variable is set for all commands: it only helps to choose.
        let text = address ?? environment["gateway"]
        let choice: GatewayChoice? = if let text { try GatewayChoice(text) } else { nil }
        return ExistingState(
            catalogue: StateCatalogue(
                directory: state.directory(environment), name: try state.botName(environment)),
            address: choice?.stateAddress, isHint: address == nil)
    }
}

/// The state of a bot that has run before, for commands that look at it or change it.
struct ExistingState {
    let catalogue: StateCatalogue
    /// Where the database was reached. Nil: there is one only.
    let address: String?
    /// The address only helps to choose among several.
    let isHint: Bool

    var name: String { catalogue.name }

    /// The options by which other commands find this state.
    var options: String {
        guard let address, !isHint else { return catalogue.options }
        return "\(catalogue.options) --gateway \(address.shellWord)"
    }

    /// Opens it for the length of `body`.
    ///
    /// - Throws: ``CommandError`` with 66 if there is none, 64 if there are several and none is named, 75 if it is to
    ///   be had alone and a run has it.
    func with<Result>(
        _ access: Ledger.Access, _ body: (Ledger) async throws -> Result
    ) async throws -> Result {
        let ledger = try open(access)
        defer { ledger.close() }
        return try await body(ledger)
    }

    private func open(_ access: Ledger.Access) throws(CommandError) -> Ledger {
        do throws(StateError) {
            return try catalogue.openExisting(address: address, isHint: isHint, access: access)
        } catch {
            guard case .locked(let holder) = error, access == .alone else { throw CommandError(error) }
            throw CommandError(.tryLater, "a run is using the state '\(name)' (\(holder)); stop it first")
        }
    }
}
