import Foundation
import GRDB
import GatewayClient
import Testing

@testable import BotState

/// Showing or inspecting a state changes nothing.
@Suite struct ReadOnlyStateTests {
    private func withTestBed(_ body: (LedgerTestBed, StateCatalogue) async throws -> Void) async throws {
        try await withTemporaryDirectory { directory in
            try await body(LedgerTestBed(directory: directory), StateCatalogue(directory: directory, name: "bot"))
        }
    }

    /// Checks that each way to read the state finds checkpoint 5 and a dead letter.
    private func expectAll(_ catalogue: StateCatalogue, isHeld: Bool = false) throws {
        let ledger = try catalogue.openExisting(address: nil, access: .readOnly)
        defer { ledger.close() }
        #expect(try ledger.checkpoint()?.sequence == sequence(5))
        #expect(try ledger.deadLetters(of: "ä").map(\.ledgerRecord?.number) == [1])
        #expect(try ledger.addresses() == ["http://a:1/todo"])
        #expect((ledger.holder != nil) == isHeld)
        var counts: [Int] = []
        try catalogue.forEachState { counts.append(try $0.deadLetterCount()) }
        #expect(counts == [1])
        let state = try #require(try catalogue.inspect().first)
        #expect(state.version == Schema.version && state.checkpoint == "5" && state.problem == nil)
        #expect((state.holder != nil) == isHeld)
    }

    private func fill(_ ledger: Ledger) async throws {
        try await ledger.saveCheckpoint(sequence(5))
        try await ledger.keep([DeadLetter(sequence: sequence(4), id: "ä", revision: nil, reason: "because")])
    }

    /// A run takes the lock before it opens the file.
    @Test(arguments: [false, true]) func closedStateIsReadWithoutATrace(isHeld: Bool) async throws {
        try await withTestBed { bed, catalogue in
            try await bed.using { try await fill($0) }
            let lock = isHeld ? try StateLock(path: bed.files().lock, holder: "pid 1 on this") : nil
            defer { withExtendedLifetime(lock) {} }
            let before = try bed.contents()
            for _ in 1...2 { try expectAll(catalogue, isHeld: isHeld) }
            #expect(try bed.contents() == before)
        }
    }

    @Test func stateOfAKilledBotIsShownAndUnchanged() async throws {
        try await withTestBed { bed, _ in
            let run = try bed.open()
            try await fill(run)
            let killed = LedgerTestBed(directory: bed.directory + "-killed")
            defer { try? FileManager.default.removeItem(atPath: killed.directory) }
            try FileManager.default.copyItem(atPath: bed.directory, toPath: killed.directory)
            run.close()
            let names = try FileManager.default.contentsOfDirectory(atPath: killed.directory).sorted()
            let before = try killed.contents()
            #expect(names == ["bot.lock", "bot.sqlite", "bot.sqlite-shm", "bot.sqlite-wal"])
            try expectAll(StateCatalogue(directory: killed.directory, name: "bot"))
            #expect(try killed.contents() == before)
            #expect(try FileManager.default.contentsOfDirectory(atPath: killed.directory).sorted() == names)
        }
    }

    /// Reading a copy would get slower with each own write in the state.
    @Test func stateOfARunningBotIsReadInPlace() async throws {
        try await withTestBed { bed, catalogue in
            try await bed.using { run in
                try await run.saveCheckpoint(sequence(1))
                let shown = try catalogue.openExisting(address: nil, access: .readOnly)
                defer { shown.close() }
                #expect(try shown.checkpoint()?.sequence == sequence(1))
                try await run.saveCheckpoint(sequence(2))
                #expect(try shown.checkpoint()?.sequence == sequence(2))
                // Writes through a read-only ledger are ignored.
                try await shown.saveCheckpoint(sequence(3))
                #expect(try run.checkpoint()?.sequence == sequence(2))
            }
        }
    }

    @Test func dryRunSeesTheStateOfItsStart() async throws {
        try await LedgerTestBed.withLedger { bed, run in
            try await run.saveCheckpoint(sequence(1))
            let preview = try bed.preview()
            try await run.saveCheckpoint(sequence(2))
            #expect(try preview.checkpoint()?.sequence == sequence(1))
        }
    }

    @Test(arguments: [true, false]) func otherTablesAreRefusedAndUnchanged(areNewer: Bool) async throws {
        try await withTestBed { bed, catalogue in
            if areNewer {
                try bed.open().close()
                try bed.change("UPDATE identity SET value = '99' WHERE name = 'version'")
            } else {
                try bed.makeOldForm().close()
            }
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
                #expect(reason.contains(areNewer ? "written by a newer changebot" : "its tables have no version"))
            }
            #expect(try bed.contents() == before)
        }
    }

    /// A run was killed after it had created the file.
    @Test func emptyFileIsAnEmptyState() async throws {
        try await withTestBed { bed, catalogue in
            _ = try bed.files().create()
            let ledger = try catalogue.openExisting(address: nil, access: .readOnly)
            #expect(try ledger.checkpoint() == nil && ledger.deadLetterCount() == 0)
            #expect(try bed.contents() == ["bot.sqlite": Data()])
        }
    }
}
