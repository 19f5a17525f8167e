import GRDB
import GatewayClient
import Testing

@testable import Pipeline

@Suite struct LedgerMigrationTests {
    /// A state as the first form of the file has it.
    private func makeFirstForm(_ path: String) throws {
        let database = try DatabaseQueue(path: path)
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE checkpoint (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, sequence TEXT NOT NULL, rule_set TEXT NOT NULL,
                        saved_at TEXT NOT NULL
                    );
                    CREATE TABLE own_revision (
                        id TEXT NOT NULL, revision TEXT NOT NULL, rule_set TEXT NOT NULL, UNIQUE (id, revision)
                    );
                    CREATE TABLE dead_letter (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, sequence TEXT, id TEXT NOT NULL, revision TEXT,
                        rule TEXT, reason TEXT NOT NULL, attempts INTEGER NOT NULL, set_aside_at TEXT NOT NULL
                    );
                    INSERT INTO identity VALUES ('gateway', 'http://a:1/todo');
                    INSERT INTO checkpoint VALUES (3, '"1::5"', 'r1', '2026-11-20T10:00:00Z');
                    INSERT INTO own_revision VALUES ('ä', '2-x', 'r1');
                    INSERT INTO dead_letter VALUES (8, '4', 'ä', '1-a', NULL, 'because', 3, '2026-11-20T10:00:00Z');
                    """)
        }
        try migrator.migrate(database)
        try database.close()
    }

    private func expectAll(in ledger: Ledger) async throws {
        let history = try ledger.checkpointHistory()
        #expect(history.map(\.sequence) == [SequenceID("\"1::5\"")])
        #expect(history.map(\.number) == [3])
        #expect(try await ledger.ownRevisions(among: [("ä", RevisionID("2-x"))]) == [0])
        var deadLetter = DeadLetter(
            sequence: sequence(4), id: "ä", revision: RevisionID("1-a"), reason: "because", attempts: 3)
        deadLetter.filing = DeadLetter.Filing(number: 8, deadLetteredAt: "2026-11-20T10:00:00Z", ruleSetHash: "")
        #expect(try ledger.deadLetters(of: "ä") == [deadLetter])
        #expect(try ledger.gateway() == "http://a:1/todo")
    }

    @Test func theFirstFormIsReadOn() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try makeFirstForm(bed.databasePath)
            try await bed.using { try await expectAll(in: $0) }
            try await bed.using { try await expectAll(in: $0) }
        }
    }

    @Test func aCommandBesideNoRunBringsTheFileToTodaysForm() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try makeFirstForm(bed.databasePath)
            let ledger = try #require(try bed.openExisting(.shared, rules: "r1"))
            try await expectAll(in: ledger)
            #expect(bed.holder == nil)
        }
    }

    @Test func aPreviewReadsTheFirstFormAndLeavesIt() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try makeFirstForm(bed.databasePath)
            for _ in 1...2 {
                try await expectAll(in: bed.preview())
            }
            let file = try DatabaseQueue(path: bed.databasePath)
            #expect(try await file.read { try $0.columns(in: "own_revision").count } == 3)
        }
    }

    @Test func aFileOfANewerChangebotIsRefused() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try bed.open().close()
            let file = try DatabaseQueue(path: bed.databasePath)
            try await file.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
            let error = #expect(throws: StateError.self) { try bed.open() }
            #expect(error?.description.contains("written by a newer changebot, version 99 of the state") == true)

            // The later version notes which one it is.
            try await file.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 12003004") }
            try file.close()
            let named = #expect(throws: StateError.self) { try bed.open() }
            let which = "newer changebot, version 12.3.4 (this is \(ProgramVersion.current)); use that one"
            #expect(named?.description.contains(which) == true)
        }
    }

    @Test func aFileSaysWhichVersionGaveItItsForm() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try bed.open().close()
            let file = try DatabaseQueue(path: bed.databasePath)
            let number = try await file.read { try Int.fetchOne($0, sql: "PRAGMA user_version") }
            #expect(number == ProgramVersion.number)
            // 0.1.0 is 1000.
            #expect(number ?? 0 >= 1000)
        }
    }
}
