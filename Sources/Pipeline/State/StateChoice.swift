/// What a gateway shows of the database that it serves.
package enum DatabaseSighting: Sendable, Equatable {
    /// It has the mark of this bot, with this nonce.
    case marked(String)
    /// It has none.
    case unmarked
    /// This user may keep no mark.
    case unknowable

    var identity: String? {
        if case .marked(let identity) = self { identity } else { nil }
    }
}

extension DatabaseSighting {
    /// Which state belongs to the database that is reached at `address`; nil if none does yet.
    ///
    /// The mark decides: the same mark is the same database, wherever it is reached. Otherwise the address decides: what
    /// is found where a known database was, is this database, reset or restored. Who sees the state compare the marks
    /// (``Ledger/databaseIdentity()``) finds that out. Everything else is another database.
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
        // A database that was reset and is reached at another name of this machine.
        return latest { state in
            state.identity == nil ? nil : state.lastUse(of: address) { $0.mayBeSame(as: $1) }
        }
    }
}
