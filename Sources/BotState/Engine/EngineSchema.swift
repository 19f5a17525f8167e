internal import FleetEngine
package import PostgreSQL

/// Creates and finds the tables of a fleet in PostgreSQL.
package enum EngineSchema {
    /// The SQLSTATE.
    package static let undefinedTable = "42P01"

    /// Creates the schema and its tables if they are missing, and adds those that an older fleet does not have. Several members may do so at the same time.
    ///
    /// - Parameter schema: Also the search path of the connection.
    /// - Throws: `PostgresError`; ``SupersededSchema`` if there are other tables.
    package static func prepare(_ schema: String, _ connection: PostgresConnection) throws {
        if try version(schema, connection) == Schema.version { return }
        try connection.transaction { connection in
            // Held until the transaction ends. Then the others find the tables.
            try connection.run(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
                [.text(PostgresConnection.quotedIdentifier(schema))])
            switch try version(schema, connection) {
            case nil: break
            case Schema.version?: return
            case let earlier?: return try connection.script(Schema.script(.postgres, upgradingFrom: earlier))
            }
            // Even with IF NOT EXISTS, creating needs a privilege on the database.
            let found = try connection.run("SELECT FROM pg_namespace WHERE nspname = $1", [.text(schema)])
            if found.rows.isEmpty {
                try connection.script("CREATE SCHEMA \(PostgresConnection.quotedIdentifier(schema))")
            }
            try connection.script(Schema.script(.postgres))
            try WorkLogPartitions.makeFleet(connection)
        }
    }

    /// Whether the fleet exists. Tables that a newer version has added may be missing until a bot has started.
    ///
    /// - Throws: As ``prepare(_:_:)``.
    package static func exists(_ schema: String, _ connection: PostgresConnection) throws -> Bool {
        try version(schema, connection) != nil
    }

    /// The version of the fleet's tables, which are created in one transaction. Nil: there are none.
    private static func version(_ schema: String, _ connection: PostgresConnection) throws -> Int? {
        let place = SupersededSchema.Place.fleet(schema: PostgresConnection.quotedIdentifier(schema))
        // The catalog is read as a table, because `to_regclass` answers from a cache: after a wait for a lock, it does
        // not include what others committed meanwhile.
        let found = try connection.run(
            """
            SELECT bool_or(relname = 'identity') FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
            WHERE nspname = $1 AND relkind = 'r'
            """, [.text(schema)])
        switch found.rows.first?.first {
        case .int(1): return try Schema.check(PostgresSession(connection: connection), place)
        case .int: throw SupersededSchema(version: nil, program: nil, place: place)
        default: return nil
        }
    }
}
