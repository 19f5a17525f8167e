import Foundation
import GRDB
import GatewayClient
import PostgreSQL
import TestKit
import Testing

@testable import BotState
@testable import FleetEngine

/// The tables of a state in files and in an engine.
@Suite(.limitedParallelism) struct SchemaTests {
    // MARK: - Both databases

    /// The properties of a column that both databases report.
    private struct Column: Hashable {
        let name: String
        let type: String
        let isNullable: Bool
        let initial: String?
    }

    private struct Index: Hashable {
        let columns: [String]
        let isUnique: Bool
        let isPartial: Bool
    }

    private struct Tables: Equatable {
        var columns: [String: [Column]] = [:]
        var indexes: [String: Set<Index>] = [:]
    }

    private static func sqliteType() throws -> Tables {
        let database = try DatabaseQueue()
        try SQLiteStore.prepare(database)
        return try database.read { database in
            var tables = Tables()
            for table in Schema.tables.map(\.name) {
                let columns = try Row.fetchAll(database, sql: "PRAGMA table_info(\(table))")
                tables.columns[table] = columns.map { row in
                    // A primary key can't be null, although SQLite does not report that.
                    let isNullable = row["notnull"] == 0 && row["pk"] == 0
                    return Column(
                        name: row["name"], type: row["type"], isNullable: isNullable, initial: row["dflt_value"])
                }
                var indexes = try Row.fetchAll(database, sql: "PRAGMA index_list(\(table))").map { row in
                    let name: String = row["name"]
                    let names = try String.fetchAll(
                        database, sql: "SELECT name FROM pragma_index_info('\(name)') ORDER BY seqno")
                    return Index(columns: names, isUnique: row["unique"] == 1, isPartial: row["partial"] == 1)
                }
                let key = try String.fetchAll(
                    database, sql: "SELECT name FROM pragma_table_info('\(table)') WHERE pk > 0 ORDER BY pk")
                indexes.append(Index(columns: key, isUnique: true, isPartial: false))
                tables.indexes[table] = Set(indexes)
            }
            return tables
        }
    }

    private static func postgresType(_ connection: PostgresConnection) throws -> Tables {
        let types = ["bigint": "INTEGER", "text": "TEXT", "bytea": "BLOB"]
        var tables = Tables()
        let columns = try connection.run(
            """
            SELECT table_name, column_name, data_type, is_nullable = 'YES', column_default FROM information_schema.columns
            WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position
            """)
        for row in columns.rows {
            let type = row[2].text ?? ""
            tables.columns[row[0].text ?? "", default: []].append(
                Column(
                    name: row[1].text ?? "", type: types[type] ?? type, isNullable: row[3] == .int(1),
                    initial: row[4].text))
        }
        let indexes = try connection.run(
            """
            SELECT relname, indisunique, indpred IS NOT NULL,
                (SELECT string_agg(attname, ' ' ORDER BY place) FROM unnest(indkey) WITH ORDINALITY k (number, place)
                    JOIN pg_attribute a ON a.attrelid = indrelid AND a.attnum = number)
            FROM pg_index JOIN pg_class ON pg_class.oid = indrelid
            WHERE relnamespace = current_schema()::regnamespace
            """)
        for row in indexes.rows {
            var columns = (row[3].text ?? "").split(separator: " ").map(String.init)
            // In SQLite, every index ends with rowid implicitly.
            if columns.count > 1, columns.last == "rowid" { columns.removeLast() }
            tables.indexes[row[0].text ?? "", default: []].insert(
                Index(columns: columns, isUnique: row[1] == .int(1), isPartial: row[2] == .int(1)))
        }
        return tables
    }

    private static func withSchema(_ body: (Engine, PostgresConnection) throws -> Void) async throws {
        let server = try TestPostgres.shared
        let engine = Engine(try PostgresAddress(server.url()), fleet: server.uniqueName("schema"))
        var settings = PostgresSettings()
        settings.schema = engine.schema
        try body(engine, PostgresConnection(engine.address, password: nil, settings: settings))
    }

    @Test func bothDatabasesHaveTheSameColumnsKeysAndIndexes() async throws {
        try await Self.withSchema { engine, connection in
            try EngineSchema.prepare(engine.schema, connection)
            var postgres = try Self.postgresType(connection)
            let sqlite = try Self.sqliteType()
            let fleet = Set(Schema.fleetTables.map(\.name))
            #expect(fleet.isSubset(of: postgres.columns.keys) && fleet.count == Schema.fleetTables.count)
            postgres.columns = postgres.columns.filter { !fleet.contains($0.key) }
            postgres.indexes = postgres.indexes.filter { !fleet.contains($0.key) }
            for table in Schema.tables.map(\.name) {
                #expect(sqlite.columns[table] == postgres.columns[table], "\(table)")
                #expect(sqlite.indexes[table] == postgres.indexes[table], "\(table)")
            }
            #expect(sqlite == postgres)
            let others = try connection.run(
                """
                SELECT table_name, column_name FROM information_schema.columns
                WHERE table_schema = current_schema() AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'
                """)
            #expect(others.rows.isEmpty, "these columns are not ordered by bytes")
        }
    }

    // MARK: - Files

    private func withTestBed(_ body: (LedgerTestBed) throws -> Void) async throws {
        try await withTemporaryDirectory { try body(LedgerTestBed(directory: $0)) }
    }

    private static func expectRefused(
        _ bed: LedgerTestBed, _ reason: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        for open in [
            { _ = try bed.open() }, { _ = try bed.openExisting(.shared) }, { _ = try bed.openExisting(.exclusive) },
            { _ = try bed.preview() },
        ] as [() throws -> Void] {
            let error = #expect(throws: StateError.self, sourceLocation: sourceLocation) { try open() }
            guard case .unreadable(bed.databasePath, let found) = error else {
                Issue.record("\(String(describing: error))", sourceLocation: sourceLocation)
                continue
            }
            #expect(found == reason, sourceLocation: sourceLocation)
        }
    }

    @Test func fileOfANewerChangebotIsRefused() async throws {
        try await withTestBed { bed in
            try bed.open().close()
            try bed.change(
                """
                UPDATE identity SET value = '\(Schema.version + 1)' WHERE name = 'version';
                UPDATE identity SET value = '12.3.4' WHERE name = 'program'
                """)
            try Self.expectRefused(
                bed,
                "it was written by a newer changebot, version 12.3.4 (this is \(ProgramVersion.current)); use that one, "
                    + "or another --name")
            try bed.change("DELETE FROM identity WHERE name = 'program'")
            try Self.expectRefused(
                bed,
                "it was written by a newer changebot, version \(Schema.version + 1) of the tables (this program needs "
                    + "\(Schema.version)); use that one, or another --name")
        }
    }

    /// Statements that make tables of an earlier version.
    private static func earlier(_ version: Int, of tables: [BotState.Table] = Schema.tables) -> String {
        tables.filter { $0.since > version }.map { "DROP TABLE \($0.name);\n" }.joined() + """
            UPDATE identity SET value = '\(version)' WHERE name = 'version';
            UPDATE identity SET value = '0.0.9' WHERE name = 'program'
            """
    }

    @Test(arguments: 1..<Schema.version) func olderFileGetsTheTablesThatItDoesNotHave(version: Int) async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let first = try bed.open()
            let sequence = try #require(SequenceID("12"))
            try await first.saveCheckpoint(sequence)
            first.close()
            try bed.change(Self.earlier(version))
            for open in [bed.preview, { try bed.open() }] {
                let ledger = try open()
                #expect(try ledger.seenCounts().isEmpty && ledger.traces(of: "a").isEmpty)
                #expect(try ledger.checkpoint()?.sequence == sequence)
                ledger.close()
            }
            let facts = try Self.identity(bed)
            #expect(facts["version"] == "\(Schema.version)" && facts["program"] == ProgramVersion.current)
        }
    }

    private static func identity(_ bed: LedgerTestBed) throws -> [String: String] {
        let database = try DatabaseQueue(path: bed.databasePath)
        let rows = try database.read { try Row.fetchAll($0, sql: "SELECT name, value FROM identity") }
        return Dictionary(rows.map { ($0["name"], $0["value"]) }) { first, _ in first }
    }

    private static let noVersion =
        "its tables have no version: it was created before changebot's first release, or by another program; use another "
        + "--name, or move it away"

    @Test func fileFromBeforeTheFirstReleaseIsRefused() async throws {
        try await withTestBed { bed in
            try bed.makeOldForm().close()
            try Self.expectRefused(bed, Self.noVersion)
        }
    }

    @Test(arguments: [
        "CREATE TABLE notes (text)", "CREATE TABLE identity (id)", "CREATE TABLE identity (name, value)",
        "CREATE TABLE identity (name, value); INSERT INTO identity VALUES ('version', 'x')",
        "CREATE TABLE identity (name, value); INSERT INTO identity VALUES ('version', '0')",
        "CREATE TABLE identity (name, value); INSERT INTO identity VALUES ('version', 0)",
        "CREATE TABLE identity (name, value); INSERT INTO identity VALUES ('version', NULL)",
    ])
    func fileOfAnotherProgramIsRefused(tables: String) async throws {
        try await withTestBed { bed in
            try bed.change(tables)
            try Self.expectRefused(bed, Self.noVersion)
        }
    }

    /// A run was killed before it had created the tables; then several commands start at once.
    @Test func severalProcessesCreateTheTablesAtOnce() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            _ = try bed.files().create()
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask {
                        let ledger = try #require(try bed.openExisting(.shared))
                        defer { ledger.close() }
                        return try ledger.deadLetterCount()
                    }
                }
                for try await count in group { #expect(count == 0) }
            }
        }
    }

    // MARK: - Engines

    @Test(arguments: 1..<Schema.version) func olderEngineGetsTheTablesThatItDoesNotHave(version: Int) async throws {
        try await Self.withSchema { engine, connection in
            try EngineSchema.prepare(engine.schema, connection)
            let tables = Schema.tables + Schema.fleetTables
            try connection.script(Self.earlier(version, of: tables))
            #expect(try EngineSchema.exists(engine.schema, connection))
            for _ in 0..<2 {
                try EngineSchema.prepare(engine.schema, connection)
                for table in tables where table.since > version {
                    #expect(try connection.run("SELECT FROM \(table.name)").rows.isEmpty)
                }
            }
        }
    }

    @Test(arguments: [
        (
            "UPDATE identity SET value = '\(Schema.version + 1)' WHERE name = 'version'",
            "it was written by a newer changebot, version \(Schema.version + 1) of the tables (this program needs "
                + "\(Schema.version)); use that one, or another --fleet"
        ),
        ("UPDATE identity SET name = 'schema', value = '3' WHERE name = 'version'", nil),
        ("DROP TABLE identity", nil), ("DELETE FROM identity", nil),
    ])
    func otherTablesOfAnEngineAreRefused(change: String, reason: String?) async throws {
        try await Self.withSchema { engine, connection in
            try EngineSchema.prepare(engine.schema, connection)
            try connection.script(change)
            let expected =
                reason
                ?? "its tables have no version: it was created before changebot's first release, or by another program; "
                + "use another --fleet, or in psql, run: DROP SCHEMA \"\(engine.schema)\" CASCADE"
            for attempt in [EngineSchema.prepare, { _ = try EngineSchema.exists($0, $1) }] {
                let error = #expect(throws: SupersededSchema.self) { try attempt(engine.schema, connection) }
                #expect(error?.description == expected)
            }
            guard case .engineRefused(_, expected) = try #require(throws: StateError.self, performing: engine.snapshot)
            else {
                Issue.record("another error")
                return
            }
        }
    }

    /// An administrator created the schema, because the bot's user may not.
    @Test func emptySchemaGetsTheTables() async throws {
        try await Self.withSchema { engine, connection in
            try connection.script("CREATE SCHEMA \(PostgresConnection.quotedIdentifier(engine.schema))")
            #expect(try !EngineSchema.exists(engine.schema, connection))
            try EngineSchema.prepare(engine.schema, connection)
            #expect(try EngineSchema.exists(engine.schema, connection))
        }
    }
}
