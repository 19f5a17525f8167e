/// Lets one process of a fleet at a time write the mark of the database.
package protocol MarkLock: Sendable {
    /// Calls `body` while no other member writes the mark of the database.
    ///
    /// - Parameter waits: Whether to wait some time for other members. Otherwise does nothing if another member is
    ///   writing the mark.
    func withExclusiveMark(waits: Bool, _ body: () async throws -> Void) async throws
}

/// The state of members that share the work, in a store that is not an ``Engine``: for simulations.
package struct SharedState: Sendable {
    /// Checks in each transaction that this member may write. ``StateStore/close()`` must not affect other members.
    let store: any StateStore
    /// Identifies this member. The table `member` has a row for it.
    let owner: String
    let markLock: any MarkLock
    /// For messages.
    let description: String

    package init(_ store: any StateStore, owner: String, markLock: any MarkLock, description: String) {
        (self.store, self.owner, self.markLock, self.description) = (store, owner, markLock, description)
    }

    /// - Throws: ``StateError``: `.foreign` if the fleet belongs to another database.
    func openForRun(
        directory: String, _ address: String, _ observation: DatabaseObservation, ruleSetHash: String
    ) throws(StateError) -> StateCatalogue.Opened {
        let facts = try facts()
        guard facts.isOpen(to: observation, at: address) else {
            throw .foreign("\(description) works on another database, \(facts.lastAddress ?? "?")")
        }
        let former = StateCatalogue.formerAddress(facts, observation, address)
        let use = facts.nextUse(of: address)
        let ledger = Ledger(self, directory: directory, address: use, ruleSetHash: ruleSetHash)
        try ledger.bind(to: use, former == nil ? .resume : .resumeElsewhere, observation.identity)
        return StateCatalogue.Opened(ledger: ledger, formerAddress: former)
    }

    func facts() throws(StateError) -> StateFacts {
        do { return try store.read { try StateFacts($0) } } catch { throw store.error(.reading, error) }
    }
}

// MARK: - The one state of a fleet

extension StateFacts {
    /// Whether the state of a fleet may be used for the database at `address`: a fleet works on one database.
    func isOpen(to observation: DatabaseObservation, at address: String) -> Bool {
        let isNew = identity == nil && addresses.isEmpty
        let isSame = identity != nil && identity == observation.identity
        return isNew || isSame || lastUse(of: address) != nil
    }

    /// What a run that uses this address records.
    func nextUse(of address: String) -> Address {
        let latest = addresses.map(\.used).max() ?? 0
        return Address(url: address, used: lastAddress == address ? latest : latest + 1)
    }
}
