import Foundation
import GRDB
import GatewayClient
import Testing

@testable import Pipeline

/// States that are shown or examined: nothing of them changes, whichever version wrote them.
@Suite struct ReadOnlyStateTests {
    private func withTestBed(_ body: (LedgerTestBed, StateCatalogue) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            try await body(LedgerTestBed(directory: directory), StateCatalogue(directory: directory, name: "bot"))
        }
    }

    /// What each way to look at the state of the first version finds.
    private func expectFirstForm(_ catalogue: StateCatalogue, isHeld: Bool = false) throws {
        let ledger = try catalogue.openExisting(address: nil, access: .readOnly)
        defer { ledger.close() }
        #expect(try ledger.checkpointHistory().map(\.sequence) == [SequenceID("\"1::5\"")])
        #expect(try ledger.deadLetters(of: "ä").map(\.filing?.number) == [8])
        #expect(try ledger.addresses() == ["http://a:1/todo"])
        #expect((ledger.holder != nil) == isHeld)
        var counts: [Int] = []
        try catalogue.forEachState { counts.append(try $0.deadLetterCount()) }
        #expect(counts == [1])
        let state = try #require(try catalogue.examine().first)
        #expect(state.version == 1 && state.checkpoint == "1::5" && state.problem == nil)
        #expect((state.holder != nil) == isHeld)
    }

    /// They brought it to the form of this version: the program that had written it could not open it any more.
    @Test func anOldStateStaysAsItIs() async throws {
        try await withTestBed { bed, catalogue in
            try bed.makeFirstForm().close()
            let before = try bed.contents()
            for _ in 1...2 { try expectFirstForm(catalogue) }
            #expect(try bed.contents() == before)
            #expect(before.keys.sorted() == ["bot.sqlite"])
        }
    }

    /// They failed: `another run uses this state`.
    @Test func anOldStateIsShownWhileAnOldBotRunsWithIt() async throws {
        try await withTestBed { bed, catalogue in
            let bot = try bed.makeFirstForm()
            let lock = try StateLock(path: bed.files().lock, holder: "pid 1 on old")
            defer { withExtendedLifetime(lock) {} }
            let before = try bed.contents()
            #expect(before["bot.sqlite-wal"]?.isEmpty == false)
            try expectFirstForm(catalogue, isHeld: true)
            #expect(try bed.contents() == before)
            try await bot.write { try $0.execute(sql: "UPDATE checkpoint SET saved_at = 'later'") }
            let ledger = try catalogue.openExisting(address: nil, access: .readOnly)
            #expect(try ledger.checkpointHistory().map(\.savedAt) == ["later"])
            // What would change it waits for the bot.
            let error = #expect(throws: StateError.self) {
                try catalogue.openExisting(address: nil, access: .shared)
            }
            guard case .locked(let holder) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(holder == "pid 1 on old")
        }
    }

    /// A run has the lock before it has the file open.
    @Test func aHeldStateThatNobodyHasOpenStaysAsItIs() async throws {
        try await withTestBed { bed, catalogue in
            try bed.makeFirstForm().close()
            let lock = try StateLock(path: bed.files().lock, holder: "pid 1 on old")
            defer { withExtendedLifetime(lock) {} }
            let before = try bed.contents()
            try expectFirstForm(catalogue, isHeld: true)
            #expect(try bed.contents() == before)
        }
    }

    @Test func whatAKilledOldBotLeftIsShownAndStays() async throws {
        try await withTestBed { bed, _ in
            let bot = try bed.makeFirstForm()
            let killed = LedgerTestBed(directory: bed.directory + "-killed")
            defer { try? FileManager.default.removeItem(atPath: killed.directory) }
            try FileManager.default.copyItem(atPath: bed.directory, toPath: killed.directory)
            try bot.close()
            let names = try FileManager.default.contentsOfDirectory(atPath: killed.directory).sorted()
            let before = try killed.contents()
            #expect(names == ["bot.sqlite", "bot.sqlite-shm", "bot.sqlite-wal"])
            try expectFirstForm(StateCatalogue(directory: killed.directory, name: "bot"))
            #expect(try killed.contents() == before)
            #expect(try FileManager.default.contentsOfDirectory(atPath: killed.directory).sorted() == names)
        }
    }

    /// A copy would cost more with every own write that the state remembers.
    @Test func theStateOfARunOfThisVersionIsReadWhereItIs() async throws {
        try await withTestBed { bed, catalogue in
            try await bed.using { run in
                try await run.saveCheckpoint(sequence(1))
                let shown = try catalogue.openExisting(address: nil, access: .readOnly)
                defer { shown.close() }
                #expect(try shown.checkpoint()?.sequence == sequence(1))
                try await run.saveCheckpoint(sequence(2))
                #expect(try shown.checkpoint()?.sequence == sequence(2))
                // Nothing is written, whatever a command tries.
                try await shown.saveCheckpoint(sequence(3))
                #expect(try run.checkpoint()?.sequence == sequence(2))
            }
        }
    }

    @Test func aDryRunKeepsTheStateThatItBeganWith() async throws {
        try await LedgerTestBed.withLedger { bed, run in
            try await run.saveCheckpoint(sequence(1))
            let preview = try bed.preview()
            try await run.saveCheckpoint(sequence(2))
            #expect(try preview.checkpoint()?.sequence == sequence(1))
        }
    }

    @Test func theStateOfANewerVersionIsRefused() async throws {
        try await withTestBed { bed, catalogue in
            try bed.open().close()
            let file = try DatabaseQueue(path: bed.databasePath)
            try await file.writeWithoutTransaction {
                try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99'); PRAGMA user_version = 12003004")
            }
            try file.close()
            let before = try bed.contents()
            for look in [
                { _ = try catalogue.openExisting(address: nil, access: .readOnly) },
                { try catalogue.forEachState { _ in } },
            ] as [() throws -> Void] {
                let error = #expect(throws: StateError.self) { try look() }
                guard case .unreadable(_, let reason) = error else {
                    Issue.record("\(String(describing: error))")
                    continue
                }
                #expect(reason.contains("written by a newer changebot, version 12.3.4 (this is "))
            }
            #expect(try bed.contents() == before)
        }
    }

    /// A run was killed after it had made the file.
    @Test func anEmptyFileIsAnEmptyState() async throws {
        try await withTestBed { bed, catalogue in
            _ = try bed.files().create()
            let ledger = try catalogue.openExisting(address: nil, access: .readOnly)
            #expect(try ledger.checkpoint() == nil && ledger.deadLetterCount() == 0)
            #expect(try bed.contents() == ["bot.sqlite": Data()])
        }
    }
}
