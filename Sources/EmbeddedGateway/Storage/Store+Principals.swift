internal import GRDB

extension Store {
    /// Compares users and roles with those of the last time, and gives sequences to what is new.
    ///
    /// A sequence tells the changes feed from where on somebody has seen a channel: what was written before must still
    /// come. GUEST has the first sequence always.
    ///
    /// - Returns: All principals by their keys.
    func settle(_ users: EmbeddedGateway.Users) async throws -> [String: Principal] {
        let (principals, sequence) = try await database.write { db in
            var settlement = try Settlement(db)
            for (name, channels) in users.roles.sorted(by: { $0.key < $1.key }) {
                try settlement.settle(Principal.role(name), channels)
            }
            for (name, account) in users.accounts.sorted(by: { $0.key < $1.key }) {
                let roles = account.roles.map(Principal.role)
                try settlement.settle(Principal.user(name), account.channels.union(roles), flag: account.isDisabled)
            }
            let roles = users.guest.roles.map(Principal.role)
            try settlement.settle(Principal.user(nil), users.guest.channels.union(roles))
            return (settlement.principals, try settlement.finish())
        }
        signal.advance(to: sequence)
        return principals
    }
}

private struct Settlement {
    private let db: Database
    private let before: [String: Principal]
    private let disabled: Set<String>
    private var sequence: Int
    private(set) var principals: [String: Principal] = [:]

    init(_ db: Database) throws {
        self.db = db
        sequence = try Store.lastSequence(db)
        var before: [String: Principal] = [:]
        var disabled: Set<String> = []
        for row in try Row.fetchAll(db, sql: "SELECT key, sequence, disabled FROM principals") {
            before[row[0]] = Principal(sequence: row[1])
            if row[2] { disabled.insert(row[0]) }
        }
        for row in try Row.fetchAll(db, sql: "SELECT principal, name, sequence FROM grants") {
            before[row[0]]?.grants[row[1]] = row[2]
        }
        self.before = before
        self.disabled = disabled
    }

    mutating func settle(_ key: String, _ names: Set<String>, flag isDisabled: Bool = false) throws {
        var principal = before[key] ?? Principal(sequence: 0)
        let isSame = Set(principal.grants.keys) == names && disabled.contains(key) == isDisabled
        if before[key] == nil || !isSame {
            if key == Principal.user(nil) {
                principal.sequence = Store.guestSequence
            } else {
                sequence += 1
                principal.sequence = sequence
            }
            principal.grants = principal.grants.filter { names.contains($0.key) }
            for name in names where principal.grants[name] == nil {
                principal.grants[name] =
                    key == Principal.user(nil) && before[key] == nil ? principal.sequence : sequence
            }
            try write(key, principal, isDisabled)
        }
        principals[key] = principal
    }

    private func write(_ key: String, _ principal: Principal, _ isDisabled: Bool) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO principals (key, sequence, disabled) VALUES (?, ?, ?)",
            arguments: [key, principal.sequence, isDisabled])
        try db.execute(sql: "DELETE FROM grants WHERE principal = ?", arguments: [key])
        for (name, sequence) in principal.grants {
            try db.execute(
                sql: "INSERT INTO grants (principal, name, sequence) VALUES (?, ?, ?)",
                arguments: [key, name, sequence])
        }
    }

    /// Forgets who is gone, and keeps the sequences that were given out.
    ///
    /// - Returns: The highest sequence.
    func finish() throws -> Int {
        for key in before.keys where principals[key] == nil {
            try db.execute(sql: "DELETE FROM principals WHERE key = ?", arguments: [key])
            try db.execute(sql: "DELETE FROM grants WHERE principal = ?", arguments: [key])
        }
        try db.execute(sql: "UPDATE counters SET value = ? WHERE name = 'sequence'", arguments: [sequence])
        return sequence
    }
}
