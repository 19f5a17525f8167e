/// What is known about a state before it is opened for a run.
package struct StateFacts: Sendable, Equatable {
    package struct Address: Sendable, Equatable {
        let url: String
        /// Increases with every run: the highest number marks the address used last.
        let used: Int

        package init(url: String, used: Int) {
            (self.url, self.used) = (url, used)
        }
    }

    /// The number of its file.
    var number = 1
    /// The mark of its database; nil if none is known.
    var identity: String?
    /// All addresses of its database so far.
    var addresses: [Address] = []
    /// The sequence of the newest checkpoint, as JSON text.
    var checkpoint: String?
    /// Whether it is empty: no database, checkpoint, own revision or dead letter.
    var isBlank = true

    /// The address used last.
    var lastAddress: String? { addresses.max { $0.used < $1.used }?.url }

    /// When an address was last used, as ``Address/used``; nil if it never was.
    package func lastUse(of address: String, _ isMatch: (StateAddress, StateAddress) -> Bool = { $0.isSame(as: $1) })
        -> Int?
    {
        let address = StateAddress(address)
        return addresses.filter { isMatch(StateAddress($0.url), address) }.map(\.used).max()
    }
}

extension StateFacts {
    /// Reads the facts of a state.
    init(number: Int = 1, _ session: any StateSession) throws {
        self.number = number
        identity = try session.value(String.self, "SELECT value FROM identity WHERE name = 'database'")
        addresses = try session.rows("SELECT url, used FROM address").map { Address(url: $0[0], used: $0[1]) }
        checkpoint = try session.value(String.self, "SELECT sequence FROM checkpoint ORDER BY number DESC LIMIT 1")
        let isEmpty = try ["checkpoint", "own_write", "dead_letter", "timer"].allSatisfy { table in
            try session.rows("SELECT 1 FROM \(table) LIMIT 1").isEmpty
        }
        isBlank = identity == nil && isEmpty
    }
}

/// What a read of the database's mark has shown about its identity.
package enum DatabaseObservation: Sendable, Equatable {
    /// It has this bot's mark, with this nonce.
    case marked(String)
    /// It has no mark.
    case unmarked
    /// This user may not read or write the mark.
    case inaccessible

    var identity: String? {
        if case .marked(let identity) = self { identity } else { nil }
    }
}

extension DatabaseObservation {
    /// Which state belongs to the database at `address`; nil if none does yet.
    ///
    /// The mark decides first: the same mark means the same database, whatever its address. Otherwise the address
    /// decides: a database at a known address is the known one, perhaps reset or restored. The process that opens the
    /// state finds out which by comparing the marks (``Ledger/databaseIdentity()``). Anything else is another database.
    package func choose(among states: [StateFacts], at address: String) -> StateFacts? {
        func latest(_ uses: (StateFacts) -> Int?) -> StateFacts? {
            states.compactMap { state in uses(state).map { (state, $0) } }.max { $0.1 < $1.1 }?.0
        }
        if let identity {
            let same = states.filter { $0.identity == identity }
            if let state = same.first(where: { $0.lastUse(of: address) != nil }) ?? same.first { return state }
        }
        if let state = latest({ $0.lastUse(of: address) }) { return state }
        guard self == .unmarked else { return nil }
        // A reset database at another loopback name.
        return latest { state in
            state.identity == nil ? nil : state.lastUse(of: address) { $0.mayBeSame(as: $1) }
        }
    }
}

/// The address of a database: a gateway's URL, or `embedded:FILE`. Equivalent spellings of a URL compare as equal.
package struct StateAddress {
    /// `http://127.0.0.1:4985`: in lower case, without the default port.
    private let server: String
    /// Nil if there is none.
    private let host: Substring?
    private let path: Substring

    init(_ text: String) {
        guard let scheme = text.firstRange(of: "://") else {
            (server, host, path) = ("", nil, text[...])
            return
        }
        let rest = text[scheme.upperBound...]
        let authority = rest.prefix { $0 != "/" }
        let name = text[..<scheme.lowerBound].lowercased()
        var place = authority.lowercased()
        let port = name == "https" ? ":443" : ":80"
        if place.hasSuffix(port) { place.removeLast(port.count) }
        server = name + "://" + place
        host = place.hasPrefix("[") ? place.prefix { $0 != "]" } : place.prefix { $0 != ":" }
        path = rest[authority.endIndex...]
    }

    /// Whether both have the same scheme, host, port and path.
    func isSame(as other: StateAddress) -> Bool { server == other.server && path == other.path }

    /// Whether they are the same, or differ only in the name of this machine: `localhost`, `127.0.0.1`, `[::1]`.
    func mayBeSame(as other: StateAddress) -> Bool {
        if isSame(as: other) { return true }
        guard let local = withoutLoopback, path == other.path else { return false }
        return local == other.withoutLoopback
    }

    /// The server without its host name, if that is a loopback name; otherwise nil.
    private var withoutLoopback: String? {
        guard let host, let place = server.firstRange(of: host), ["localhost", "127.0.0.1", "[::1"].contains(host)
        else {
            return nil
        }
        return String(server[..<place.lowerBound]) + String(server[place.upperBound...].drop { $0 == "]" })
    }
}
