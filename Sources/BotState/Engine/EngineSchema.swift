internal import FleetEngine
package import PostgreSQL

/// Makes and finds the tables of a fleet in PostgreSQL.
package enum EngineSchema {
    /// The SQLSTATE.
    package static let undefinedTable = "42P01"

    /// Makes the schema and its tables if they are missing. Several members may do so at the same time.
    ///
    /// - Parameter schema: Also the search path of the connection.
    /// - Throws: `PostgresError`; ``SupersededSchema`` if there are other tables.
    package static func prepare(_ schema: String, _ connection: PostgresConnection) throws {
        if try isThere(schema, connection) { return }
        try connection.transaction { connection in
            // Until the transaction ends: the others find the tables then.
            try connection.run(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
                [.text(PostgresConnection.quotedIdentifier(schema))])
            if try isThere(schema, connection) { return }
            // Even with IF NOT EXISTS it needs a privilege on the database.
            let found = try connection.run("SELECT FROM pg_namespace WHERE nspname = $1", [.text(schema)])
            if found.rows.isEmpty {
                try connection.script("CREATE SCHEMA \(PostgresConnection.quotedIdentifier(schema))")
            }
            try connection.script(Schema.script(.postgres))
            try WorkLogPartitions.makeFleet(connection)
        }
    }

    /// Whether the fleet is there, with all its tables: the one place that asks. They are made in one transaction.
    ///
    /// - Throws: As ``prepare(_:_:)``.
    package static func isThere(_ schema: String, _ connection: PostgresConnection) throws -> Bool {
        let place = SupersededSchema.Place.fleet(schema: PostgresConnection.quotedIdentifier(schema))
        // The catalog is read as a table: a session that has waited for a lock does not know yet what others committed
        // meanwhile, and `to_regclass` answers from what it knows.
        let found = try connection.run(
            """
            SELECT bool_or(relname = 'identity') FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = $1 AND relkind = 'r'
            """, [.text(schema)])
        switch found.rows.first?.first {
        case .int(1): try Schema.check(PostgresSession(connection: connection), place)
        case .int: throw SupersededSchema(version: nil, program: nil, place: place)
        default: return false
        }
        return true
    }
}
