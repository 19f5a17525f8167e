internal import GRDB

/// What is known of a state before it is opened for a run.
struct StateFacts: Sendable, Equatable {
    struct Address: Sendable, Equatable {
        let url: String
        /// Grows with every run: the highest is the address used last.
        let used: Int
    }

    /// The number of its file.
    var number = 1
    /// The mark of its database; nil if none is known.
    var identity: String?
    /// The addresses at which it was reached.
    var addresses: [Address] = []
    /// The sequence of the newest checkpoint, as JSON text.
    var checkpoint: String?
    /// Whether it is empty: no database, checkpoint, own revision or dead letter.
    var isBlank = true

    /// The address used last.
    var lastAddress: String? { addresses.max { $0.used < $1.used }?.url }

    /// When an address was last used, as ``Address/used``; nil if it never was.
    func lastUse(of address: String, _ isMatch: (StateAddress, StateAddress) -> Bool = { $0.isSame(as: $1) }) -> Int? {
        let address = StateAddress(address)
        return addresses.filter { isMatch(StateAddress($0.url), address) }.map(\.used).max()
    }
}

extension StateFacts {
    /// Reads the facts from a state of any schema version.
    init(number: Int, _ database: Database) throws {
        self.number = number
        guard try database.tableExists("identity") else { return }
        func fact(_ name: String) throws -> String? {
            try String.fetchOne(database, sql: "SELECT value FROM identity WHERE name = ?", arguments: [name])
        }
        identity = try fact("database")
        if try database.tableExists("address") {
            addresses = try Row.fetchAll(database, sql: "SELECT url, used FROM address").map { row in
                Address(url: row["url"], used: row["used"])
            }
        } else if let url = try fact("gateway") {
            addresses = [Address(url: url, used: 0)]
        }
        checkpoint = try String.fetchOne(
            database, sql: "SELECT sequence FROM checkpoint ORDER BY number DESC LIMIT 1")
        let isEmpty = try ["checkpoint", "own_revision", "dead_letter"].allSatisfy { table in
            try Row.fetchOne(database, sql: "SELECT 1 FROM \(table) LIMIT 1") == nil
        }
        isBlank = identity == nil && isEmpty
    }
}
