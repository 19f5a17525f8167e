/// What the gateway's database shows about its identity.
enum DatabaseSighting: Sendable, Equatable {
    /// It has this bot's mark, with this nonce.
    case marked(String)
    /// It has no mark.
    case unmarked
    /// This user may not read or write the mark.
    case unknowable

    var identity: String? {
        if case .marked(let identity) = self { identity } else { nil }
    }
}

extension DatabaseSighting {
    /// Which state belongs to the database at `address`; nil if none does yet.
    ///
    /// The mark decides: the same mark is the same database, at whatever address. Otherwise the address decides: a
    /// database at a known address is the known one, perhaps reset or restored. Whoever opens the state finds that out
    /// by comparing the marks (``Ledger/databaseIdentity()``). Anything else is another database.
    func choose(among states: [StateFacts], at address: String) -> StateFacts? {
        func latest(_ uses: (StateFacts) -> Int?) -> StateFacts? {
            states.compactMap { state in uses(state).map { (state, $0) } }.max { $0.1 < $1.1 }?.0
        }
        if let identity {
            let same = states.filter { $0.identity == identity }
            if let state = same.first(where: { $0.lastUse(of: address) != nil }) ?? same.first { return state }
        }
        if let state = latest({ $0.lastUse(of: address) }) { return state }
        guard self == .unmarked else { return nil }
        // A reset database that is reached by another loopback name.
        return latest { state in
            state.identity == nil ? nil : state.lastUse(of: address) { $0.mayBeSame(as: $1) }
        }
    }
}
