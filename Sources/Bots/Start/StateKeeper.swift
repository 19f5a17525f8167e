package import BotState
internal import Delivery
internal import DocumentFlow
internal import GatewayClient
internal import Logging
internal import PostgreSQL

/// Where a run finds its state: the states of a bot, and the address of the database.
package struct StatePlace: Sendable {
    let catalogue: StateCatalogue
    let address: String
    let ruleSetHash: String
    let purpose: StateCatalogue.Purpose

    /// - Parameter address: The gateway's URL. For an embedded gateway `embedded:FILE`, because its port changes with
    ///   each start.
    package init(
        _ catalogue: StateCatalogue, address: String, ruleSetHash: String, purpose: StateCatalogue.Purpose
    ) {
        self.catalogue = catalogue
        self.address = address
        self.ruleSetHash = ruleSetHash
        self.purpose = purpose
    }

    /// A copy for other rules.
    package func with(ruleSetHash: String) -> StatePlace {
        StatePlace(catalogue, address: address, ruleSetHash: ruleSetHash, purpose: purpose)
    }

    /// A copy for a member of a fleet that shares its work.
    ///
    /// - Parameter fence: Checks in each transaction that this process may write.
    func shared(_ fence: @escaping EngineStore.Fence) -> StatePlace {
        let shared = StateCatalogue(
            directory: catalogue.directory, name: catalogue.name, engine: catalogue.engine?.with(fence: fence))
        return StatePlace(shared, address: address, ruleSetHash: ruleSetHash, purpose: purpose)
    }

    /// A copy whose calls to the engine end at `limit`.
    func limited(by limit: CallLimit) -> StatePlace {
        guard let engine = catalogue.engine else { return self }
        let limited = StateCatalogue(
            directory: catalogue.directory, name: catalogue.name, engine: engine.with(limit: limit))
        return StatePlace(limited, address: address, ruleSetHash: ruleSetHash, purpose: purpose)
    }

    /// Whether this is a dry run, which changes neither the state nor the database.
    var isReadOnly: Bool { purpose == .preview || purpose == .previewOfExisting }
}

/// Finds the state that belongs to a gateway's database, and handles resets of the database.
struct StateKeeper: Sendable {
    /// Sends the first requests of a run.
    let contact: GatewayContact
    let place: StatePlace
    let marks: MarkDocument
    private let logger: Logger
    private let channels: [String]?
    private let checkInterval: Duration
    private let lostMark: DatabaseResetDetector.LostMark
    /// Called before a state is created; throws if the run is refused.
    private let beforeCreation: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - name: The bot's name: part of the id of the mark's document.
    ///   - retries: How requests are retried before the run reads from the database.
    ///   - channels: The channels that the run reads; nil for all.
    ///   - checkInterval: The longest time between two checks of the mark during the run.
    ///   - lostMark: What to do if only the mark is lost.
    ///   - beforeCreation: Called before a state is created. An error refuses the run, which then leaves nothing behind.
    init(
        place: StatePlace, gateway: Gateway, name: String, retries: RetryPolicy.Settings, report: RunReport,
        logger: Logger, channels: [String]? = nil, checkInterval: Duration = DatabaseResetDetector.maxInterval,
        lostMark: DatabaseResetDetector.LostMark = .writeAgain,
        beforeCreation: @escaping @Sendable () async throws(GatewayError) -> Void = {}
    ) {
        self.place = place
        marks = MarkDocument(gateway: gateway, name: name, trust: MarkReliability(logger: logger))
        contact = GatewayContact(settings: retries, logger: logger) { await report.noteContactRetry() }
        self.logger = logger
        self.channels = channels
        self.checkInterval = checkInterval
        self.lostMark = lostMark
        self.beforeCreation = { [contact] in try await contact.ask(beforeCreation) }
    }

    /// An open state, and the result of comparing it with the mark in its database.
    struct CheckedState {
        let state: StateCatalogue.Opened
        let detector: DatabaseResetDetector
        /// Only a dry run, which can't clear the state, continues with `.reset`.
        let finding: DatabaseResetDetector.Finding
    }

    // MARK: - Opening

    /// Opens the state and compares it with the database's mark, until the two belong together.
    ///
    /// - Parameters:
    ///   - held: The state, if this run has already opened it. A state that is opened here is closed on failure.
    ///   - onReset: Calls ``renew(_:_:forget:)``, or ends the run.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`, what `onReset` throws.
    func open(
        _ held: StateCatalogue.Opened? = nil,
        onReset: (DatabaseReset, StateCatalogue.Opened) async throws -> StateCatalogue.Opened?
    ) async throws -> CheckedState {
        guard let markLock = place.catalogue.markLock, !place.isReadOnly else {
            return try await openNow(held, onReset)
        }
        var checked: CheckedState?
        try await markLock.withExclusiveMark(waits: true) { checked = try await openNow(held, onReset) }
        guard let checked else { throw CancellationError() }
        return checked
    }

    private func openNow(
        _ held: StateCatalogue.Opened?,
        _ onReset: (DatabaseReset, StateCatalogue.Opened) async throws -> StateCatalogue.Opened?
    ) async throws -> CheckedState {
        var state: StateCatalogue.Opened
        var seen: StoredMark?
        if let held { state = held } else { (state, seen) = try await openStateOfMark() }
        do {
            let generation = held == nil ? try state.ledger.markGeneration() : nil
            while true {
                let detector = DatabaseResetDetector(
                    marks: marks, ledger: state.ledger, markLock: place.catalogue.markLock, channels: channels,
                    isReadOnly: place.isReadOnly,
                    logger: logger, checkInterval: checkInterval, lostMark: lostMark)
                let finding = try await contact.ask { [seen] in try await detector.detect(after: seen) }
                guard case .reset(let reset) = finding else {
                    if let generation { try await noteAge(of: state, before: generation) }
                    try await confirm(state, detector)
                    return CheckedState(state: state, detector: detector, finding: finding)
                }
                let next = try await onReset(reset, state)
                if place.isReadOnly { return CheckedState(state: state, detector: detector, finding: finding) }
                // Look for the mark again: the reset database gets a new one.
                seen = nil
                if let next { state = next } else { (state, seen) = try await openStateOfMark() }
            }
        } catch {
            if state.ledger !== held?.ledger { state.ledger.close() }
            throw error
        }
    }

    /// A state that was restored from an older copy does not know documents with totals that were written since. Its mark
    /// has then been written more often than it remembers, as also after a crash between a write and its record.
    ///
    /// - Parameter generation: How often it remembered before the mark was read.
    private func noteAge(of state: StateCatalogue.Opened, before generation: Int) async throws(StateError) {
        guard !place.isReadOnly, place.catalogue.engine == nil, generation > 0,
            try state.ledger.markGeneration() > generation, !InjectedFault.uncountedStart.isActive,
            try await state.ledger.countAgain()
        else { return }
        logger.notice("the database has a newer mark than this state: counting all documents again")
    }

    /// Looks for the database's mark, adds one if the database is new, and opens the state that belongs to it.
    ///
    /// Call it after the gateway has answered once. If the process is killed after adding the mark, the next run finds
    /// it and creates the state.
    ///
    /// - Returns: Also the mark, if its generation is known.
    /// - Throws: `RunError`, ``StateError``, `CancellationError`.
    func openStateOfMark() async throws -> (state: StateCatalogue.Opened, mark: StoredMark?) {
        var (observation, mark) = try await contact.ask(findMark)
        if place.purpose == .run, try !place.catalogue.hasState(observation, at: place.address) {
            try await beforeCreation()
        }
        if place.purpose == .run, observation == .unmarked, try !place.catalogue.knowsDatabase(at: place.address) {
            (observation, mark) = try await contact.ask(createMark)
        }
        let opened = try await open(observation)
        log(opened)
        return (opened, mark)
    }

    private func open(_ observation: DatabaseObservation) async throws(StateError) -> StateCatalogue.Opened {
        let open = { @Sendable [place] () throws(StateError) in
            try place.catalogue.open(
                address: place.address, observation, ruleSetHash: place.ruleSetHash, for: place.purpose)
        }
        return place.catalogue.engine == nil ? try open() : try await BlockingCall.run(open)
    }

    /// Warns in a dry run if only other bots have states in the folder: the name may be wrong.
    func warnAboutName() {
        guard place.purpose == .preview, let absence = place.catalogue.missingStateHint else { return }
        logger.warning("\(absence)")
    }

    private func findMark() async throws -> (DatabaseObservation, StoredMark?) {
        try await observation { () async throws(GatewayError) in
            let found = try await marks.find()
            return (found?.mark, found?.generation)
        }
    }

    private func createMark() async throws -> (DatabaseObservation, StoredMark?) {
        try await observation { () async throws(GatewayError) in
            let left = try await marks.create()
            return (left.mark, left.generation)
        }
    }

    private func observation(
        _ mark: () async throws(GatewayError) -> (mark: DatabaseMark?, generation: Int?)
    ) async throws(GatewayError) -> (DatabaseObservation, StoredMark?) {
        do throws(GatewayError) {
            let (mark, generation) = try await mark()
            guard let mark else { return (.unmarked, nil) }
            return (.marked(mark.identity), generation.map { StoredMark(mark: mark, generation: $0) })
        } catch {
            try await marks.requireRefusal(error)
            return (.inaccessible, nil)
        }
    }

    private func log(_ opened: StateCatalogue.Opened) {
        if let former = opened.formerAddress {
            logger.notice(
                "the bot knows this database from another address: continuing where it stopped",
                metadata: [LogKey.before: "\(former)", LogKey.now: "\(place.address)"])
        }
        if !opened.others.isEmpty {
            logger.notice(
                place.isReadOnly
                    ? "this database is new to the bot: a run will create a state for it"
                    : "this database is new to the bot: created a state for it",
                metadata: [
                    LogKey.gateway: "\(place.address)", LogKey.others: "\(opened.others.joined(separator: ", "))",
                ])
        }
    }

    /// Records the database's new address. Rewrites the mark first: if this database is a file copy of another one, the
    /// generation of the mark then tells the two apart.
    private func confirm(_ state: StateCatalogue.Opened, _ detector: DatabaseResetDetector) async throws {
        guard state.formerAddress != nil, !place.isReadOnly else { return }
        try await contact.ask {
            do { try await detector.rewriteMark() } catch let error as GatewayError {
                try await marks.requireRefusal(error)
                logger.debug("the database's mark can't be written", metadata: [LogKey.reason: "\(error)"])
            }
        }
        try await state.ledger.noteAddress()
    }

    // MARK: - After a reset

    /// Prepares the state for starting over after a reset or restore.
    ///
    /// - Parameter forget: Clears the state; receives the nonce of the new mark, if there is one.
    /// - Returns: The state to continue with; nil if it was closed and the one for this database must be looked up.
    func renew(
        _ reset: DatabaseReset, _ state: StateCatalogue.Opened, forget: (_ identity: String?) async throws -> Void
    ) async throws -> StateCatalogue.Opened? {
        let renewal = try renewal(reset, state)
        var step = renewal.first
        if case .replaceMark(let old) = step {
            let new = try await contact.ask { try await newMark(insteadOf: old) }
            step = renewal.next(afterReplacing: old, by: new)
        }
        guard case .forget(let identity) = step else {
            state.ledger.close()
            return nil
        }
        try await forget(identity)
        CrashPoint.stateForgotten.pass()
        return StateCatalogue.Opened(ledger: state.ledger)
    }

    private func renewal(_ reset: DatabaseReset, _ state: StateCatalogue.Opened) throws(StateError) -> Renewal {
        var isKnownToAnotherState = false
        if !place.isReadOnly, let identity = reset.mark?.identity {
            isKnownToAnotherState = try place.catalogue.hasState(of: identity, otherThan: state.ledger)
        }
        return Renewal(
            reset: reset, mayChangeState: !place.isReadOnly, isKnownToAnotherState: isKnownToAnotherState,
            isAtNewAddress: state.formerAddress != nil)
    }

    /// Replaces the mark and returns its nonce; nil if this user may not write it.
    private func newMark(insteadOf old: String) async throws -> String? {
        do throws(GatewayError) {
            return try await marks.replace { $0?.mark.identity == old ? .new() : nil }.mark?.identity
        } catch {
            try await marks.requireRefusal(error)
            return nil
        }
    }
}
