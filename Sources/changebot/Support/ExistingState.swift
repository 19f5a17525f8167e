internal import Pipeline

/// The state of a bot that has run before, for commands that look at it or change it.
struct ExistingState {
    let directory: String
    let name: String

    init(directory: String, name: String) {
        self.directory = directory
        self.name = name
    }

    /// - Throws: 64 for a name that is none.
    init(_ options: StateOptions, _ environment: Environment) throws(CommandFailure) {
        self.init(directory: options.directory(environment), name: try options.botName(environment))
    }

    /// - Throws: ``CommandFailure`` with 66 if there is none, 75 if it is to be had alone and a run has it, 78 if it
    ///   belongs to another gateway.
    func open(
        _ access: Ledger.Access, gateway: String? = nil, ruleSetHash: String = ""
    ) throws(CommandFailure) -> Ledger {
        do throws(StateError) {
            if let ledger = try Ledger(
                existing: directory, name: name, gateway: gateway, ruleSetHash: ruleSetHash, access: access)
            {
                return ledger
            }
        } catch {
            throw CommandFailure(error)
        }
        throw CommandFailure(
            .missingInput, "there is no state '\(name)' in \(directory); name the right one with --state and --name")
    }

    /// Opens it for the length of `body`.
    func with<Result>(
        _ access: Ledger.Access, _ body: (Ledger) async throws -> Result
    ) async throws -> Result {
        let ledger = try open(access)
        defer { ledger.close() }
        return try await body(ledger)
    }
}
