package import PostgreSQL

/// Opens the state of a fleet. Blocks.
enum EngineState {
    /// For a run: creates the tables if they are missing, and takes the lease.
    ///
    /// - Throws: ``StateError``: `.locked` if another member runs; `.foreign` if the fleet belongs to another database.
    static func openForRun(
        _ engine: Engine, directory: String, _ address: String, _ observation: DatabaseObservation, ruleSetHash: String
    ) throws(StateError) -> StateCatalogue.Opened {
        try prepare(engine)
        let lease = engine.fence == nil ? try EngineLease.take(engine, ruleSetHash: ruleSetHash) : nil
        let store = EngineStore(engine, fence: engine.fence ?? lease?.lock)
        do {
            let facts = try store.read { try StateFacts($0) }
            try check(facts, engine, address, observation)
            let former = StateCatalogue.formerAddress(facts, observation, address)
            let use = facts.nextUse(of: address)
            let ledger = Ledger(engine, store, lease, directory: directory, address: use, ruleSetHash: ruleSetHash)
            try ledger.bind(to: use, former == nil ? .resume : .resumeElsewhere, observation.identity)
            return StateCatalogue.Opened(ledger: ledger, formerAddress: former)
        } catch {
            store.close()
            lease?.release()
            throw .engine(engine, .reading, error)
        }
    }

    /// For a command that may work next to a run.
    ///
    /// - Parameters:
    ///   - access: `.exclusive` takes the lease.
    ///   - ruleSetHash: Empty: none.
    /// - Throws: ``StateError``: `.missing` if there is no such fleet; `.locked`.
    static func openExisting(
        _ engine: Engine, directory: String, access: Ledger.Access, ruleSetHash: String = ""
    ) throws(StateError) -> Ledger {
        let queue = engine.makeQueue()
        defer { queue.close() }
        do {
            guard try queue.performNow({ try EngineSchema.exists(engine.schema, $0) }) else {
                throw StateError.missing(
                    "there is no fleet '\(engine.fleet)' on \(engine.address); name the right one with --engine and --fleet"
                )
            }
        } catch {
            throw .engine(engine, .reading, error)
        }
        let lease = access == .exclusive ? try EngineLease.take(engine, ruleSetHash: ruleSetHash) : nil
        return Ledger(
            engine, EngineStore(engine, fence: lease?.lock), lease, directory: directory, access: access, address: nil,
            ruleSetHash: ruleSetHash)
    }

    /// For a dry run.
    ///
    /// - Throws: ``StateError``.
    static func openReadOnly(
        _ engine: Engine, directory: String, _ address: String, _ observation: DatabaseObservation, ruleSetHash: String,
        mustExist: Bool
    ) throws(StateError) -> StateCatalogue.Opened {
        do throws(StateError) {
            let ledger = try openExisting(engine, directory: directory, access: .readOnly, ruleSetHash: ruleSetHash)
            let facts = try ledger.read { try StateFacts($0) }
            try check(facts, engine, address, observation)
            return StateCatalogue.Opened(
                ledger: ledger, formerAddress: StateCatalogue.formerAddress(facts, observation, address))
        } catch {
            guard case .missing = error, !mustExist else { throw error }
            let files = StateFiles(directory: directory, name: engine.fleet)
            return StateCatalogue.Opened(ledger: try Ledger(readOnly: files, nil, ruleSetHash: ruleSetHash))
        }
    }

    /// - Throws: ``StateError``.
    static func facts(_ engine: Engine) throws(StateError) -> StateFacts? {
        let ledger: Ledger
        do throws(StateError) { ledger = try openExisting(engine, directory: "", access: .readOnly) } catch {
            guard case .missing = error else { throw error }
            return nil
        }
        defer { ledger.close() }
        return try ledger.read { try StateFacts($0) }
    }

    private static func prepare(_ engine: Engine) throws(StateError) {
        let queue = engine.makeQueue()
        defer { queue.close() }
        do {
            try queue.performNow { connection in
                try EngineSafety.require(engine, connection)
                try EngineSchema.prepare(engine.schema, connection)
            }
        } catch {
            throw .engine(engine, .creating, error)
        }
    }

    /// A fleet works on one database.
    private static func check(
        _ facts: StateFacts, _ engine: Engine, _ address: String, _ observation: DatabaseObservation
    ) throws(StateError) {
        guard !facts.isOpen(to: observation, at: address) else { return }
        throw .foreign(
            "the fleet '\(engine.fleet)' on \(engine.address) works on another database, \(facts.lastAddress ?? "?"); "
                + "choose another --fleet for \(address)")
    }
}

/// The server settings that are required so that no acknowledged write is lost.
package enum EngineSafety {
    /// - Throws: ``StateError/cannotCreate(path:reason:)`` for a server with `fsync=off`, unless that is allowed;
    ///   `PostgresError`.
    package static func require(_ engine: Engine, _ connection: PostgresConnection) throws {
        guard !engine.allowsUnsafe else { return }
        let setting = try connection.run("SELECT current_setting('fsync')").rows.first?.first?.text
        guard setting == "off" else { return }
        throw StateError.cannotCreate(
            path: engine.description,
            reason: "PostgreSQL runs with fsync=off, and can lose acknowledged writes when the machine fails; set "
                + "fsync=on, or accept it with --allow-unsafe-engine")
    }
}
