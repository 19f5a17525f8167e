internal import GRDB

/// Reads users and roles with their grants.
struct PrincipalReader {
    let db: Database

    /// Nil if no such user or role exists.
    func principal(_ key: String) throws -> Principal? {
        let statement = try db.cachedStatement(sql: "SELECT sequence FROM principals WHERE key = ?")
        guard let sequence = try Int.fetchOne(statement, arguments: [key]) else { return nil }
        var principal = Principal(sequence: sequence, computed: try computed(key))
        let grants = try db.cachedStatement(
            sql: "SELECT collection, name, sequence, ended FROM grants WHERE principal = ?")
        for row in try Row.fetchAll(grants, arguments: [key]) {
            let grant = Grant(collection: row[0], name: row[1])
            if let ended = row[3] as Int? { principal.lost[grant] = ended } else { principal.grants[grant] = row[2] }
        }
        return principal
    }

    /// The grants of documents to a user or role, which need not exist.
    func computed(_ key: String) throws -> [Grant: Int] {
        let statement = try db.cachedStatement(
            sql: """
                SELECT collection, name, min(sequence) FROM document_grants WHERE principal = ?
                GROUP BY collection, name
                """)
        var computed: [Grant: Int] = [:]
        for row in try Row.fetchAll(statement, arguments: [key]) {
            computed[Grant(collection: row[0], name: row[1])] = row[2]
        }
        return computed
    }

    /// The roles of a user, by key. Omits roles that do not exist.
    func roles(of user: Principal) throws -> [String: Principal] {
        var roles: [String: Principal] = [:]
        for name in user.roles { roles[Principal.role(name)] = try principal(Principal.role(name)) }
        return roles
    }
}
