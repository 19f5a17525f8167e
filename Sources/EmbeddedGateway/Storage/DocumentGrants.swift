internal import GRDB

/// Records what a document grants, and what users lose when the document no longer grants it.
struct DocumentGrants {
    let db: Database

    /// Replaces the grants of a document. An unchanged grant keeps its sequence.
    ///
    /// - Returns: The keys of the users and roles that gain or lose something.
    func replace(_ documentKey: Int64, with grants: Set<SyncDecision.PrincipalGrant>, sequence: Int) throws -> Set<
        String
    > {
        let before = try self.grants(of: documentKey)
        guard before != grants else { return [] }
        for given in before.subtracting(grants) { try remove(given, from: documentKey, sequence: sequence) }
        for given in grants.subtracting(before) { try add(given, to: documentKey, sequence: sequence) }
        return Set(before.symmetricDifference(grants).map(\.principal))
    }

    func grants(of documentKey: Int64) throws -> Set<SyncDecision.PrincipalGrant> {
        let statement = try db.cachedStatement(
            sql: "SELECT principal, collection, name FROM document_grants WHERE document = ?")
        return Set(
            try Row.fetchAll(statement, arguments: [documentKey]).map {
                SyncDecision.PrincipalGrant(principal: $0[0], grant: Grant(collection: $0[1], name: $0[2]))
            })
    }

    private func add(_ given: SyncDecision.PrincipalGrant, to documentKey: Int64, sequence: Int) throws {
        try db.cachedStatement(
            sql: "INSERT INTO document_grants (document, principal, collection, name, sequence) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: [
            documentKey, given.principal, given.grant.collection, given.grant.name, sequence,
        ])
        try db.cachedStatement(
            sql: """
                DELETE FROM grants WHERE principal = ? AND collection = ? AND name = ? AND ended IS NOT NULL
                """
        ).execute(arguments: [given.principal, given.grant.collection, given.grant.name])
    }

    private func remove(_ given: SyncDecision.PrincipalGrant, from documentKey: Int64, sequence: Int) throws {
        let arguments: StatementArguments = [given.principal, given.grant.collection, given.grant.name]
        try db.cachedStatement(
            sql: "DELETE FROM document_grants WHERE document = ? AND principal = ? AND collection = ? AND name = ?"
        ).execute(arguments: [documentKey] + arguments)
        // Principals that still have the grant from another source lose nothing, and unknown principals are skipped.
        try db.cachedStatement(
            sql: """
                INSERT OR IGNORE INTO grants (principal, collection, name, sequence, ended)
                SELECT key, ?2, ?3, 0, ?4 FROM principals WHERE key = ?1 AND NOT EXISTS (
                    SELECT 1 FROM document_grants WHERE principal = ?1 AND collection = ?2 AND name = ?3)
                """
        ).execute(arguments: arguments + [sequence])
    }
}

extension Store {
    /// The grants of a document, each with the sequence of the change that began it.
    func grants(of id: String) throws -> [(SyncDecision.PrincipalGrant, sequence: Int)] {
        try read { db in
            let rows = try Row.fetchAll(
                db,
                sql: """
                    SELECT g.principal, g.collection, g.name, g.sequence
                    FROM documents d JOIN document_grants g ON g.document = d.key
                    WHERE d.collection = \(collection) AND d.id = ?
                    """, arguments: [id])
            return rows.map {
                (
                    SyncDecision.PrincipalGrant(principal: $0[0], grant: Grant(collection: $0[1], name: $0[2])),
                    sequence: $0[3]
                )
            }
        }
    }
}
