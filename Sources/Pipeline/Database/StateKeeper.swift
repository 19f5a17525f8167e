internal import DocumentFlow
internal import GatewayClient
internal import Logging

/// Finds the state that belongs to a gateway's database, and handles resets of the database.
struct StateKeeper: Sendable {
    let source: StateSource
    let marks: MarkDocument
    let contact: FirstContact
    let logger: Logger

    // MARK: - Opening

    /// Looks for the mark of the database, adds one if the database is new, and opens the state that belongs to it.
    ///
    /// The gateway must have answered before. If the process is killed in between, the next run finds the mark and
    /// creates the state.
    ///
    /// - Throws: ``RunError``, ``StateError``, `CancellationError`.
    func open() async throws -> RunState {
        switch source {
        case .opened(let ledger): return RunState(ledger: ledger, isOwned: false)
        case .chosen(let place):
            var sighting = try await contact.ask(look)
            if place.purpose == .run, sighting == .unmarked, try !place.catalogue.knowsDatabase(at: place.address) {
                sighting = try await contact.ask(addMark)
            }
            let opened = try place.catalogue.open(
                address: place.address, sighting, ruleSetHash: place.ruleSetHash, for: place.purpose)
            logOpened(opened, place)
            return RunState(ledger: opened.ledger, formerAddress: opened.formerAddress, isOwned: true)
        }
    }

    private func look() async throws -> DatabaseSighting {
        do throws(GatewayError) {
            return try await marks.find().map { .marked($0.mark.identity) } ?? .unmarked
        } catch {
            guard MarkDocument.isRefusal(error) else { throw error }
            return .unknowable
        }
    }

    private func addMark() async throws -> DatabaseSighting {
        do throws(GatewayError) { return .marked(try await marks.leave().mark.identity) } catch {
            guard MarkDocument.isRefusal(error) else { throw error }
            return .unknowable
        }
    }

    private func logOpened(_ opened: StateCatalogue.Opened, _ place: StatePlace) {
        if let former = opened.formerAddress {
            logger.notice(
                "this database is known from another address: continuing where the bot stopped",
                metadata: ["before": "\(former)", "now": "\(place.address)"])
        }
        if !opened.others.isEmpty {
            logger.notice(
                "this database is new to the bot: made a state for it",
                metadata: ["gateway": "\(place.address)", "others": "\(opened.others.joined(separator: ", "))"])
        }
    }

    // MARK: - At a new address

    /// Records the address at which the database is reached now. Writes the mark first: if this database is a copy of
    /// the files of another one, the age of the mark then tells the two apart.
    func confirm(_ state: RunState, _ watch: DatabaseWatch) async throws {
        guard state.formerAddress != nil, !source.isReadOnly else { return }
        try await contact.ask {
            do { try await watch.rewriteMark() } catch let error as GatewayError where MarkDocument.isRefusal(error) {
                logger.debug("the database's mark can't be written", metadata: ["reason": "\(error)"])
            }
        }
        try await state.ledger.noteAddress()
    }

    // MARK: - After a reset

    /// Prepares the state for a new beginning after a reset or restore.
    ///
    /// - Parameter forget: Clears the state; gets the nonce of the new mark, if there is one.
    /// - Returns: The state to continue with; nil if it was closed and the one for this database must be looked up.
    func renew(
        _ reset: DatabaseReset, _ state: RunState, forget: (_ identity: String?) async throws -> Void
    ) async throws -> RunState? {
        let renewal = try renewal(reset, state)
        var step = renewal.first
        if case .replaceMark(let old) = step {
            let new = try await contact.ask { try await newMark(insteadOf: old) }
            step = renewal.next(afterReplacing: old, by: new)
        }
        guard case .forget(let identity) = step else {
            state.close()
            return nil
        }
        try await forget(identity)
        CrashPoint.stateForgotten.pass()
        return RunState(ledger: state.ledger, isOwned: state.isOwned)
    }

    private func renewal(_ reset: DatabaseReset, _ state: RunState) throws(StateError) -> Renewal {
        var choosesState = false
        var isKnownToAnotherState = false
        if !source.isReadOnly, case .chosen(let place) = source {
            choosesState = true
            if let identity = reset.mark?.identity {
                isKnownToAnotherState = try place.catalogue.hasState(of: identity, otherThan: state.ledger)
            }
        }
        return Renewal(
            reset: reset, choosesState: choosesState, isKnownToAnotherState: isKnownToAnotherState,
            isAtNewAddress: state.formerAddress != nil)
    }

    /// Nil if this user may not write it.
    private func newMark(insteadOf old: String) async throws -> String? {
        do throws(GatewayError) {
            return try await marks.replace { $0?.mark.identity == old ? .new() : nil }.mark?.identity
        } catch {
            guard MarkDocument.isRefusal(error) else { throw error }
            return nil
        }
    }
}
