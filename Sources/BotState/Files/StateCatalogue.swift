internal import FoundationEssentials
internal import Glibc

/// The states of one bot, one for each database that it works on.
///
/// Several processes may open states at the same time; they wait for each other.
package struct StateCatalogue: Sendable {
    /// Why a state is opened.
    package enum Purpose: Sendable, Equatable {
        /// For a run: locks it, and creates it if there is none.
        case run
        /// For a command that may work next to a run. The state must exist.
        case shared
        /// For a dry run: nothing is created, locked or changed.
        case preview
        /// The same for a state that must exist.
        case previewOfExisting
    }

    /// An opened state, and what to report to the user about it.
    package struct Opened: Sendable {
        /// The caller must close it.
        package let ledger: Ledger
        /// The earlier address of the database, if it has a new one now.
        package var formerAddress: String?
        /// The addresses of this bot's other databases, if this one is new.
        package var others: [String] = []

        package init(ledger: Ledger, formerAddress: String? = nil, others: [String] = []) {
            (self.ledger, self.formerAddress, self.others) = (ledger, formerAddress, others)
        }
    }

    /// The folder of all state files (`--state`); it need not exist.
    package let directory: String
    /// The bot's name (`--name`), or that of its fleet.
    package let name: String
    /// The engine that stores the states. Nil: they are in files.
    package let engine: Engine?
    /// The state of a simulated fleet.
    private let shared: SharedState?

    /// Accesses no files, and does not connect.
    package init(directory: String, name: String, engine: Engine? = nil) {
        (self.directory, self.name, self.engine, shared) = (directory, name, engine, nil)
    }

    /// With the state of a simulated fleet. Only runs that share the work can use it.
    package init(directory: String, name: String, _ shared: SharedState) {
        (self.directory, self.name, self.shared, engine) = (directory, name, shared, nil)
    }

    /// Lets one process at a time write the mark of the database. Nil: no other process writes it.
    package var markLock: (any MarkLock)? { engine ?? shared?.markLock }

    /// Checks that a state can be created, without creating it, so that a wrong `--state` fails before the gateway
    /// answers.
    ///
    /// - Throws: ``StateError``: `.cannotCreate`, `.unreadable`.
    package func check() throws(StateError) {
        guard engine == nil else { return }
        var place = directory.hasPrefix("/") ? directory : FileManager.default.currentDirectoryPath + "/" + directory
        while !FileManager.default.fileExists(atPath: place), let slash = place.lastIndex(of: "/") {
            place = slash == place.startIndex ? "/" : String(place[..<slash])
        }
        var information = stat()
        guard stat(place, &information) == 0, information.st_mode & S_IFMT == S_IFDIR else {
            throw .cannotCreate(path: directory, reason: "\(place) is not a folder; \(Self.advice)")
        }
        guard access(place, W_OK | X_OK) == 0 else {
            throw .cannotCreate(path: directory, reason: "\(place) can't be written to; \(Self.advice)")
        }
        for number in try numbers() { _ = try files(number).exists() }
    }

    private static let advice = "choose another folder with --state (in a systemd unit: StateDirectory=)"

    /// Whether this bot has states of several databases, so that a command must name one. False if that can't be read.
    package var hasSeveral: Bool { engine == nil && ((try? numbers()) ?? []).count > 1 }

    /// Whether there is a state for the database at `address`, judging by the address alone, and that state knows the
    /// database's mark.
    package func knowsDatabase(at address: String) throws(StateError) -> Bool {
        if let engine { return try EngineState.facts(engine)?.identity != nil }
        if let shared { return try shared.facts().identity != nil }
        return try DatabaseObservation.unmarked.choose(among: states(), at: address)?.identity != nil
    }

    /// Whether there is a state for the database at `address`.
    package func hasState(_ observation: DatabaseObservation, at address: String) throws(StateError) -> Bool {
        if let engine { return try EngineState.facts(engine).map { !$0.isBlank } ?? false }
        if let shared { return try !shared.facts().isBlank }
        return try observation.choose(among: states(), at: address) != nil
    }

    /// Whether a state other than this one belongs to the database with this mark.
    package func hasState(of identity: String, otherThan ledger: Ledger) throws(StateError) -> Bool {
        guard engine == nil, shared == nil else { return false }
        return try states().contains { $0.identity == identity && files($0.number).database != ledger.path }
    }

    /// Opens the state of the database at `address`.
    ///
    /// - Throws: ``StateError``: `.locked` if another run holds it, `.missing` if there is none and `purpose` needs
    ///   one.
    package func open(
        address: String, _ observation: DatabaseObservation, ruleSetHash: String, for purpose: Purpose
    ) throws(StateError) -> Opened {
        if let engine { return try open(engine, address, observation, ruleSetHash, purpose) }
        if let shared, purpose == .run {
            try StateFiles(directory: directory, name: name).createDirectory()
            return try shared.openForRun(directory: directory, address, observation, ruleSetHash: ruleSetHash)
        }
        return switch purpose {
        case .run: try openForRun(address, observation, ruleSetHash)
        case .shared: try openShared(address, observation, ruleSetHash)
        case .preview, .previewOfExisting:
            try openReadOnly(address, observation, ruleSetHash, mustExist: purpose == .previewOfExisting)
        }
    }

    private func open(
        _ engine: Engine, _ address: String, _ observation: DatabaseObservation, _ ruleSetHash: String,
        _ purpose: Purpose
    ) throws(StateError) -> Opened {
        switch purpose {
        case .run:
            try StateFiles(directory: directory, name: name).createDirectory()
            return try EngineState.openForRun(
                engine, directory: directory, address, observation, ruleSetHash: ruleSetHash)
        case .shared:
            return Opened(
                ledger: try EngineState.openExisting(
                    engine, directory: directory, access: .shared, ruleSetHash: ruleSetHash))
        case .preview, .previewOfExisting:
            return try EngineState.openReadOnly(
                engine, directory: directory, address, observation, ruleSetHash: ruleSetHash,
                mustExist: purpose == .previewOfExisting)
        }
    }

    private func openForRun(
        _ address: String, _ observation: DatabaseObservation, _ ruleSetHash: String
    ) throws(StateError) -> Opened {
        try StateFiles(directory: directory, name: name).createDirectory()
        let lock = try StateDirectoryLock(directory)
        defer { withExtendedLifetime(lock) {} }
        let states = try states()
        let used = (states.flatMap(\.addresses).map(\.used).max() ?? 0) + 1
        func open(_ number: Int, _ claim: Ledger.Claim, used: Int = used) throws(StateError) -> Ledger {
            try Ledger(
                files(number), at: .init(url: address, used: used), claim, observation.identity,
                ruleSetHash: ruleSetHash)
        }
        if let state = observation.choose(among: states, at: address) {
            guard let former = Self.formerAddress(state, observation, address) else {
                let latest = states.flatMap(\.addresses).filter { $0.used == used - 1 }
                let isLatest = latest.count == 1 && state.addresses.contains { latest == [$0] && $0.url == address }
                return Opened(ledger: try open(state.number, .resume, used: isLatest ? used - 1 : used))
            }
            return Opened(ledger: try open(state.number, .resumeElsewhere), formerAddress: former)
        }
        let others = states.filter { !$0.isBlank }.compactMap(\.lastAddress)
        for state in states where state.isBlank {
            do throws(StateError) { return Opened(ledger: try open(state.number, .takeOver), others: others) } catch {
                // It belongs to a run that has just started.
                guard case .locked = error else { throw error }
            }
        }
        let taken = Set(states.map(\.number))
        let number = (1...).first { !taken.contains($0) } ?? 1
        return Opened(ledger: try open(number, .resume), others: others)
    }

    private func openShared(
        _ address: String, _ observation: DatabaseObservation, _ ruleSetHash: String
    ) throws(StateError) -> Opened {
        let states = try states()
        guard let state = observation.choose(among: states, at: address),
            let ledger = try Ledger(existing: files(state.number), ruleSetHash: ruleSetHash, access: .shared)
        else { throw missing(address, states) }
        return Opened(ledger: ledger, formerAddress: Self.formerAddress(state, observation, address))
    }

    private func openReadOnly(
        _ address: String, _ observation: DatabaseObservation, _ ruleSetHash: String, mustExist: Bool
    ) throws(StateError) -> Opened {
        let opened = try openAll(ReadOnlyState.copy)
        let states = opened.map(\.facts)
        let state = observation.choose(among: states, at: address)
        if mustExist, state == nil { throw missing(address, states) }
        let copy = opened.first { $0.facts == state }?.database
        return Opened(
            ledger: try Ledger(readOnly: files(state?.number ?? 1), copy, ruleSetHash: ruleSetHash),
            formerAddress: state.flatMap { Self.formerAddress($0, observation, address) },
            others: state == nil ? states.filter { !$0.isBlank }.compactMap(\.lastAddress) : [])
    }

    /// Nil if `address` is known.
    package static func formerAddress(
        _ state: StateFacts, _ observation: DatabaseObservation, _ address: String
    ) -> String? {
        guard state.identity != nil, state.identity == observation.identity, state.lastUse(of: address) == nil else {
            return nil
        }
        return state.lastAddress
    }
}
