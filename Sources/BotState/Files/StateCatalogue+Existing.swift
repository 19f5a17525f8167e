internal import GRDB
internal import GatewayClient
internal import Rules

extension StateCatalogue {
    func files(_ number: Int) -> StateFiles { StateFiles(directory: directory, name: name, number: number) }

    func numbers() throws(StateError) -> [Int] { try StateFiles.numbers(directory: directory, name: name) }

    /// - Throws: ``StateError``: `.unreadable`, also if the tables of a state are not those of this program.
    package func states() throws(StateError) -> [StateFacts] {
        var states: [StateFacts] = []
        for number in try numbers() {
            let files = files(number)
            guard try files.exists() else { continue }
            do { states.append(try Self.facts(number, files.database)) } catch {
                throw .reading(files.database, error)
            }
        }
        return states
    }

    /// All states, to be read only.
    ///
    /// - Throws: ``StateError``: what `open` throws; `.unreadable`.
    func openAll(
        _ open: (StateFiles) throws(StateError) -> DatabaseQueue
    ) throws(StateError) -> [(facts: StateFacts, database: DatabaseQueue)] {
        var opened: [(StateFacts, DatabaseQueue)] = []
        for number in try numbers() {
            let files = files(number)
            guard try files.exists() else { continue }
            let database = try open(files)
            do {
                let facts = try database.read { try StateFacts(number: number, SQLiteSession(database: $0)) }
                opened.append((facts, database))
            } catch {
                throw .reading(files.database, error)
            }
        }
        return opened
    }

    private static func facts(_ number: Int, _ path: String) throws -> StateFacts {
        var configuration = Configuration()
        configuration.busyMode = .timeout(Ledger.busyTimeout)
        let database = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? database.close() }
        return try database.read { database in
            guard try SQLiteStore.isPrepared(database) else { return StateFacts(number: number) }
            return try StateFacts(number: number, SQLiteSession(database: database))
        }
    }

    func missing(_ address: String, _ states: [StateFacts]) -> StateError {
        guard !states.isEmpty else { return noState }
        return .missing(
            "'\(name)' has no state for the database at \(address) in \(directory); it has states for: "
                + Self.list(states))
    }

    private var noState: StateError {
        let others = (try? StateFiles.names(directory: directory)) ?? []
        return .missing(
            "\(absence(others)); start the bot first or, if it has run, name the right one with --state and --name")
    }

    private func absence(_ others: [String]) -> String {
        let guess = NearestName.of(name, among: others).map { ": did you mean '\($0)'? There is " }
        let hint = others.isEmpty ? "" : (guess ?? "; there is ") + AbbreviatedList.text(others.map { "'\($0)'" })
        return "there is no state '\(name)' in \(directory)\(hint)"
    }

    /// A message if this bot has no state although other bots have one in the folder; nil otherwise.
    package var missingStateHint: String? {
        guard engine == nil else { return nil }
        guard let own = try? numbers(), own.isEmpty, let names = try? StateFiles.names(directory: directory) else {
            return nil
        }
        // The state of 'fix' for the same bot does not count.
        let others = names.filter { $0 != "fix-\(name)" }
        return others.isEmpty ? nil : absence(others)
    }

    /// The sequences of CouchDB are long, and only their beginning tells them apart.
    private static func shown(_ checkpoint: String?) -> String {
        guard let text = checkpoint.flatMap({ SequenceID($0)?.queryValue }) else { return "none" }
        return text.count > 24 ? text.prefix(23) + "…" : text
    }

    private static func list(_ states: [StateFacts]) -> String {
        let databases = states.map { state in
            "\(state.lastAddress ?? "an unknown address") (checkpoint \(shown(state.checkpoint)))"
        }
        return AbbreviatedList.text(databases)
    }
}

// MARK: - Without a gateway

extension StateCatalogue {
    /// - Throws: ``StateError``: `.missing` if there is no state at all.
    package func requireState() throws(StateError) {
        if let engine { return try EngineState.openExisting(engine, directory: directory, access: .readOnly).close() }
        guard try !numbers().isEmpty else { throw noState }
    }

    /// Opens the state of the database at `address`, for commands that don't contact the gateway.
    ///
    /// `.readOnly` leaves no trace.
    ///
    /// - Parameters:
    ///   - address: Nil: there must be only one.
    ///   - isHint: `address` matters only if there are several states.
    /// - Throws: ``StateError``: `.missing`, `.ambiguous`, `.locked` if a run holds it and `.exclusive` is wanted.
    package func openExisting(
        address: String?, isHint: Bool = false, access: Ledger.Access
    ) throws(StateError) -> Ledger {
        if let engine { return try EngineState.openExisting(engine, directory: directory, access: access) }
        if access == .readOnly {
            let opened = try openAll(ReadOnlyState.open)
            let state = try select(address, isHint: isHint, opened.map(\.facts))
            return try Ledger(readOnly: files(state.number), opened.first { $0.facts == state }?.database)
        }
        let state = try select(address, isHint: isHint, states())
        guard let ledger = try Ledger(existing: files(state.number), ruleSetHash: "", access: access) else {
            throw noState
        }
        return ledger
    }

    /// The names of all bots with state in a folder, sorted. None if the folder is missing.
    ///
    /// - Throws: ``StateError``: `.unreadable`.
    package static func names(in directory: String) throws(StateError) -> [String] {
        try StateFiles.names(directory: directory)
    }

    /// Calls `body` with each state of this bot, one after the other, to be read only.
    ///
    /// - Throws: ``StateError``: `.unreadable`; what `body` throws.
    package func forEachState(_ body: (Ledger) throws -> Void) throws {
        if let engine {
            let ledger = try EngineState.openExisting(engine, directory: directory, access: .readOnly)
            defer { ledger.close() }
            return try body(ledger)
        }
        for number in try numbers() {
            let files = files(number)
            guard try files.exists() else { continue }
            let ledger = try Ledger(readOnly: files, ReadOnlyState.open(files))
            defer { ledger.close() }
            try body(ledger)
        }
    }

    private func select(_ address: String?, isHint: Bool, _ states: [StateFacts]) throws(StateError) -> StateFacts {
        guard let first = states.first else { throw noState }
        if let address, !(isHint && states.count == 1) {
            let matches = [{ $0.isSame(as: $1) }, { $0.mayBeSame(as: $1) }] as [(StateAddress, StateAddress) -> Bool]
            for isMatch in matches {
                let found = states.compactMap { state in state.lastUse(of: address, isMatch).map { (state, $0) } }
                if let latest = found.max(by: { $0.1 < $1.1 }) { return latest.0 }
            }
            guard isHint else { throw missing(address, states) }
        }
        guard states.count > 1 else { return first }
        let used = states.filter { !$0.isBlank }
        guard used.count == 1 else {
            throw .ambiguous(
                "'\(name)' has states for \(states.count) databases; choose one with --gateway URL: "
                    + Self.list(states))
        }
        return used[0]
    }
}
