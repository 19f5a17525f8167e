import GRDB
import GatewayClient
import Testing

@testable import Pipeline

@Suite struct LedgerMigrationTests {
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
            try bed.makeFirstForm().close()
            try await bed.using { try await expectAll(in: $0) }
            try await bed.using { try await expectAll(in: $0) }
        }
    }

    @Test func aCommandBesideNoRunBringsTheFileToTodaysForm() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try bed.makeFirstForm().close()
            let ledger = try #require(try bed.openExisting(.shared, rules: "r1"))
            try await expectAll(in: ledger)
            #expect(bed.holder == nil)
        }
    }

    @Test func aPreviewReadsTheFirstFormAndLeavesIt() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try bed.makeFirstForm().close()
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
