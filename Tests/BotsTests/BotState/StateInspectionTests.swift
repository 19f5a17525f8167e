import Foundation
import GRDB
import GatewayClient
import Testing

@testable import BotState

/// Inspecting a state without changing it.
@Suite struct StateInspectionTests {
    private func names(_ directory: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: directory).sorted()
    }

    private func catalogue(_ bed: LedgerTestBed) -> StateCatalogue {
        StateCatalogue(directory: bed.directory, name: "bot")
    }

    @Test func unusedStateIsInspectedWithoutATrace() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let ledger = try bed.open()
            try await ledger.saveCheckpoint(try #require(SequenceID("17")))
            ledger.close()
            let before = try names(directory)
            let state = try #require(try catalogue(bed).inspect().first)
            #expect(state.version == Schema.version && state.problem == nil && state.holder == nil)
            #expect(state.address == "http://a:1/todo" && state.checkpoint == "17")
            #expect(try names(directory) == before)
        }
    }

    @Test func stateInUseNamesItsHolder() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let ledger = try bed.open()
            defer { ledger.close() }
            let state = try #require(try catalogue(bed).inspect().first)
            #expect(state.holder?.hasPrefix("pid ") == true && state.problem == nil)
            try await ledger.saveCheckpoint(try #require(SequenceID("18")))
        }
    }

    @Test(arguments: ["", "UPDATE identity SET value = '99' WHERE name = 'version'"])
    func stateWithOtherTablesHasAProblem(change: String) async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            if change.isEmpty {
                try bed.makeOldForm().close()
            } else {
                try bed.open().close()
                try bed.change(change)
            }
            let state = try #require(try catalogue(bed).inspect().first)
            let problem = try #require(state.problem)
            #expect(problem.contains(change.isEmpty ? "no version" : "newer changebot"), "\(problem)")
            #expect(problem.contains("another --name") && state.version == nil, "\(problem)")
        }
    }

    /// A run was killed before it had created the tables.
    @Test func emptyFileHasNoProblem() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            _ = try bed.files().create()
            #expect(try catalogue(bed).inspect() == [StateInspection(path: bed.databasePath)])
        }
    }

    @Test func foreignFileHasAProblem() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            #expect(try catalogue(bed).inspect().isEmpty)
            try Data("this is not a database, but a text that is long enough".utf8)
                .write(to: URL(fileURLWithPath: bed.databasePath))
            let state = try #require(try catalogue(bed).inspect().first)
            #expect(state.problem != nil && state.version == nil)
        }
    }

    @Test func libraryHasAVersion() {
        #expect(StateInspection.libraryVersion.hasPrefix("SQLite 3."))
    }
}
