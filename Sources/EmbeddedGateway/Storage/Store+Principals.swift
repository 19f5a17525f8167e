internal import GRDB

extension Store {
    /// Compares users and roles with the stored ones and assigns sequences to changes.
    ///
    /// The sequence of a grant tells the changes feed from when a user has seen a channel: older documents are then
    /// due. Lost grants are also kept with a sequence, so that a client can be told what to remove. GUEST starts with
    /// the first sequence.
    ///
    /// Afterwards ``principals`` has all of them, including removed roles.
    func settle(_ users: EmbeddedGateway.Users) async throws {
        let sequence = try await database.write { [directory = principals] db in
            var settlement = try PrincipalUpdate(db)
            for (name, channels) in users.roles.sorted(by: { $0.key < $1.key }) {
                try settlement.settle(Principal.role(name), channels.grants)
            }
            for (name, account) in users.accounts.sorted(by: { $0.key < $1.key }) {
                try settlement.settle(Principal.user(name), account.grants, flag: account.isDisabled)
            }
            try settlement.settle(Principal.user(nil), users.guest.grants)
            let (principals, sequence) = try settlement.finish()
            db.afterNextTransaction { _ in directory.replace(with: principals) }
            return sequence
        }
        signal.advance(to: sequence)
    }
}

private struct PrincipalUpdate {
    private let db: Database
    private let before: [String: Principal]
    private let disabled: Set<String>
    /// Removed roles, with the grants they had.
    private var removedPrincipals: [String: Principal]
    private var sequence: Int
    private var principals: [String: Principal] = [:]

    init(_ db: Database) throws {
        self.db = db
        sequence = try Store.lastSequence(db)
        var before: [String: Principal] = [:]
        var disabled: Set<String> = []
        var removedPrincipals: [String: Principal] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT key, sequence, disabled FROM principals") {
            before[row[0]] = Principal(sequence: row[1])
            if row[2] { disabled.insert(row[0]) }
        }
        for row in try Row.fetchAll(db, sql: "SELECT principal, collection, name, sequence, ended FROM grants") {
            let key: String = row[0]
            let grant = Grant(collection: row[1], name: row[2])
            var principal = before[key] ?? removedPrincipals[key] ?? Principal(sequence: 0)
            if let ended = row[4] as Int? { principal.lost[grant] = ended } else { principal.grants[grant] = row[3] }
            if before[key] != nil { before[key] = principal } else { removedPrincipals[key] = principal }
        }
        self.before = before
        self.disabled = disabled
        self.removedPrincipals = removedPrincipals
    }

    mutating func settle(_ key: String, _ grants: Set<Grant>, flag isDisabled: Bool = false) throws {
        let known = before[key]
        var principal = known ?? removedPrincipals.removeValue(forKey: key) ?? Principal(sequence: 0)
        let isSame = Set(principal.grants.keys) == grants && disabled.contains(key) == isDisabled
        if known == nil || !isSame {
            let isFirstGuest = known == nil && key == Principal.user(nil)
            if !isFirstGuest { sequence += 1 }
            principal.sequence = isFirstGuest ? Store.guestSequence : sequence
            for grant in principal.grants.keys where !grants.contains(grant) { principal.lose(grant, at: sequence) }
            for grant in grants where principal.grants[grant] == nil {
                principal.gain(grant, at: principal.sequence)
            }
            try write(key, principal, isDisabled)
        }
        principals[key] = principal
    }

    private func write(_ key: String, _ principal: Principal, _ isDisabled: Bool) throws {
        try db.execute(
            sql: "INSERT OR REPLACE INTO principals (key, sequence, disabled) VALUES (?, ?, ?)",
            arguments: [key, principal.sequence, isDisabled])
        try writeGrants(of: key, principal)
    }

    private func writeGrants(of key: String, _ principal: Principal) throws {
        try db.execute(sql: "DELETE FROM grants WHERE principal = ?", arguments: [key])
        let insert = "INSERT INTO grants (principal, collection, name, sequence, ended) VALUES (?, ?, ?, ?, ?)"
        for (grant, sequence) in principal.grants {
            try db.execute(sql: insert, arguments: [key, grant.collection, grant.name, sequence, nil])
        }
        for (grant, ended) in principal.lost {
            try db.execute(sql: insert, arguments: [key, grant.collection, grant.name, 0, ended])
        }
    }

    /// Removes users that no longer exist, and saves the last sequence.
    ///
    /// - Returns: All principals and the highest sequence.
    mutating func finish() throws -> (principals: [String: Principal], sequence: Int) {
        for (key, known) in before where principals[key] == nil {
            try db.execute(sql: "DELETE FROM principals WHERE key = ?", arguments: [key])
            var role = Principal(sequence: 0, lost: known.lost)
            if Principal.isRole(key) {
                sequence += 1
                for grant in known.grants.keys { role.lose(grant, at: sequence) }
                removedPrincipals[key] = role
            }
            try writeGrants(of: key, Principal.isRole(key) ? role : Principal(sequence: 0))
        }
        try db.execute(sql: "UPDATE counters SET value = ? WHERE name = 'sequence'", arguments: [sequence])
        let all = try principals.merging(removedPrincipals) { current, _ in current }.map { key, principal in
            var principal = principal
            principal.computed = try PrincipalReader(db: db).computed(key)
            return (key, principal)
        }
        return (Dictionary(uniqueKeysWithValues: all), sequence)
    }
}

extension Principal {
    fileprivate mutating func gain(_ grant: Grant, at sequence: Int) {
        grants[grant] = sequence
        lost[grant] = nil
    }

    fileprivate mutating func lose(_ grant: Grant, at sequence: Int) {
        grants[grant] = nil
        lost[grant] = sequence
    }
}
