import Foundation
import GRDB
import GatewayClient
import Testing

@testable import Pipeline

/// What can be seen of a state from outside, without a trace.
@Suite struct StateExaminationTests {
    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    private func catalogue(_ bed: LedgerTestBed) -> StateCatalogue {
        StateCatalogue(directory: bed.directory, name: "bot")
    }

    @Test func aStateThatNobodyUses() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let ledger = try bed.open()
            try await ledger.saveCheckpoint(try #require(SequenceID("17")))
            ledger.close()
            let before = try names(directory)
            let state = try #require(try catalogue(bed).examine().first)
            #expect(state.version == StateExamination.newestVersion && state.problem == nil && state.holder == nil)
            #expect(state.address == "http://a:1/todo" && state.checkpoint == "17")
            #expect(try names(directory) == before)
        }
    }

    @Test func aStateInUse() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let ledger = try bed.open()
            defer { ledger.close() }
            let state = try #require(try catalogue(bed).examine().first)
            #expect(state.holder?.hasPrefix("pid ") == true && state.problem == nil)
            try await ledger.saveCheckpoint(try #require(SequenceID("18")))
        }
    }

    /// Nothing is migrated.
    @Test func anOlderState() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try bed.open().close()
            let file = try DatabaseQueue(path: bed.databasePath)
            try await file.write { database in
                try database.execute(sql: "DELETE FROM grdb_migrations WHERE identifier > '5'")
            }
            try file.close()
            #expect(try catalogue(bed).examine().first?.version == 5)
            #expect(try catalogue(bed).examine().first?.version == 5)
        }
    }

    @Test func aNewerState() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try bed.open().close()
            let file = try DatabaseQueue(path: bed.databasePath)
            try await file.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99')") }
            try file.close()
            let state = try #require(try catalogue(bed).examine().first)
            #expect(state.version == 99)
            let problem = try #require(state.problem)
            #expect(problem.contains("version 99 of the state"), "\(problem)")
            #expect(problem.contains("up to \(StateExamination.newestVersion)"), "\(problem)")
        }
    }

    @Test func whatIsNoState() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            #expect(try catalogue(bed).examine().isEmpty)
            try Data("this is no database, but a text that is long enough".utf8)
                .write(to: URL(fileURLWithPath: bed.databasePath))
            let state = try #require(try catalogue(bed).examine().first)
            #expect(state.problem != nil && state.version == nil)
        }
    }

    @Test func theLibraryHasAVersion() {
        #expect(StateExamination.libraryVersion.hasPrefix("SQLite 3."))
    }
}
