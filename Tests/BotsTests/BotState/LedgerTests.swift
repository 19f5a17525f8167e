import Foundation
import GRDB
import GatewayClient
import Testing

@testable import BotState

@Suite struct LedgerTests {
    // MARK: - The lock

    @Test func secondRunWithTheSameNameIsRefusedWithTheHolder() async throws {
        try await LedgerTestBed.withLedger { bed, ledger in
            let error = #expect(throws: StateError.self) { try bed.open() }
            guard case .locked(let holder) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(holder.contains("pid \(getpid())"))
            #expect(bed.holder == holder)
            _ = try bed.open(name: "other")
        }
    }

    @Test func lockWithoutAHolderBelongsToAnUnknownProcess() {
        #expect(
            StateError.locked(holder: "").description
                == "another run, in an unknown process, uses this state; wait for it, or use another --name")
    }

    @Test func lockIsReleasedOnClose() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try bed.open().close()
            #expect(bed.holder == nil)
            try bed.open().close()
        }
    }

    /// Regression: a status request while the run was ending crashed SQLite.
    @Test func closedStateCannotBeRead() async throws {
        try await withTemporaryDirectory { directory in
            let ledger = try LedgerTestBed(directory: directory).open()
            try await ledger.keep([DeadLetter(sequence: nil, id: "a", revision: nil, reason: "r")])
            #expect(try ledger.newestDeadLetters(limit: 5).count == 1)
            ledger.close()
            #expect(throws: StateError.self) { try ledger.newestDeadLetters(limit: 5) }
            #expect(throws: StateError.self) { try ledger.deadLetterCounts() }
        }
    }

    // MARK: - During a run

    @Test func sharedAccessReadsAndWritesDuringARun() async throws {
        try await LedgerTestBed.withLedger { bed, run in
            let shared = try #require(try bed.openExisting(.shared))
            defer { shared.close() }
            try await run.saveCheckpoint(sequence(7))
            #expect(try shared.checkpoint()?.sequence == sequence(7))
            #expect(try shared.gateway() == "http://a:1/todo")
            try await shared.keep([DeadLetter(sequence: nil, id: "a", revision: nil, reason: "r")])
            #expect(try run.deadLetterCount() == 1)
        }
    }

    @Test func exclusiveAccessIsRefusedDuringARun() async throws {
        try await LedgerTestBed.withLedger { bed, run in
            let error = #expect(throws: StateError.self) {
                _ = try bed.openExisting(.exclusive)
            }
            guard case .locked = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func readingCreatesNoState() async throws {
        try await withTemporaryDirectory { directory in
            for path in [directory, directory + "/none"] {
                let bed = LedgerTestBed(directory: path)
                let shared = try bed.openExisting(.shared)
                let exclusive = try bed.openExisting(.exclusive)
                #expect(shared == nil && exclusive == nil)
            }
            let files = try FileManager.default.contentsOfDirectory(atPath: directory)
            #expect(files.isEmpty)
        }
    }

    @Test func previewStoresNothing() async throws {
        try await LedgerTestBed.withLedger { bed, run in
            let preview = try bed.preview()
            try await preview.saveCheckpoint(sequence(1))
            try await preview.keep([DeadLetter(sequence: nil, id: "a", revision: nil, reason: "r")])
            #expect(try await preview.drop([1]) == 0)
            let checkpoint = try run.checkpoint()
            #expect(checkpoint == nil)
            #expect(try run.deadLetterCount() == 0)
        }
    }

    // MARK: - Files

    @Test func filesAreReadableByTheirOwnerOnly() async throws {
        try await withTemporaryDirectory { parent in
            let bed = LedgerTestBed(directory: parent + "/state")
            let ledger = try bed.open()
            try await ledger.saveCheckpoint(sequence(1))
            let files = try FileManager.default.contentsOfDirectory(atPath: bed.directory)
            #expect(Set(files) == ["bot.lock", "bot.sqlite", "bot.sqlite-shm", "bot.sqlite-wal"])
            for file in files {
                #expect(try mode(bed.directory + "/" + file) == 0o600, "\(file)")
            }
            #expect(try mode(bed.directory) == 0o700)
        }
    }

    private func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test(arguments: ["bot.sqlite", "bot.lock"])
    func symbolicLinkIsRefused(file: String) async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let target = directory + "/target"
            try Data("untouched".utf8).write(to: URL(fileURLWithPath: target))
            try FileManager.default.createSymbolicLink(
                atPath: directory + "/" + file, withDestinationPath: target)
            #expect(throws: StateError.self) { try bed.open() }
            #expect(FileManager.default.contents(atPath: target) == Data("untouched".utf8))
        }
    }

    @Test func foreignFileIsRefusedAndUnchanged() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let content = Data(repeating: 0x41, count: 5000)
            try content.write(to: URL(fileURLWithPath: bed.databasePath))
            let error = #expect(throws: StateError.self) { try bed.open() }
            guard case .unreadable = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(FileManager.default.contents(atPath: bed.databasePath) == content)
        }
    }

    @Test func fullDiskFailsTheWriteAndKeepsTheCheckpoint() async throws {
        try await LedgerTestBed.withLedger { bed, ledger in
            try await ledger.saveCheckpoint(sequence(1))
            try await #require(ledger.store as? SQLiteStore).database.writeWithoutTransaction { database in
                // Limit the file to its current size: SQLite then reports the same error as for a full disk.
                try database.execute(sql: "PRAGMA max_page_count = 1")
            }
            let long = try #require(SequenceID(String(repeating: "x", count: 100_000)))
            let error = await #expect(throws: StateError.self) { try await ledger.saveCheckpoint(long) }
            guard case .cannotWrite = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try ledger.checkpoint()?.sequence == sequence(1))
            try await ledger.saveCheckpoint(sequence(2))
            #expect(try ledger.checkpoint()?.sequence == sequence(2))
        }
    }

    // MARK: - The database behind the gateway

    @Test func databaseNonceIsStored() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            try await bed.using { ledger in
                #expect(try ledger.databaseIdentity() == nil)
                try await ledger.adoptDatabase(identity: "one")
                try await ledger.adoptDatabase(identity: "two")
            }
            let identity = try bed.open().databaseIdentity()
            #expect(identity == "two")
        }
    }

    @Test(arguments: ["new", nil])
    func resetForgetsOwnRevisionsAndKeepsDeadLetters(identity: String?) async throws {
        try await LedgerTestBed.withLedger { bed, ledger in
            let own: [(id: DocumentID, revision: RevisionID)] = [("a", RevisionID("2-x"))]
            try await ledger.adoptDatabase(identity: "old")
            try await ledger.saveCheckpoint(sequence(9))
            try await ledger.recordOwnRevisions(own)
            try await ledger.keep([DeadLetter(sequence: sequence(4), id: "d", revision: nil, reason: "r")])
            try await ledger.startOver(identity: identity, at: .start, reason: "reset of the database")
            #expect(try ledger.databaseIdentity() == identity)
            #expect(try await ledger.ownRevisions(among: own) == [])
            #expect(try ledger.checkpoint()?.sequence == .start)
            #expect(try ledger.checkpointHistory().map(\.reason) == ["reset of the database", nil])
            #expect(try ledger.deadLetterCount() == 1)
        }
    }

    @Test func forgettingTheDatabaseKeepsTheCheckpoint() async throws {
        try await LedgerTestBed.withLedger { bed, ledger in
            let own: [(id: DocumentID, revision: RevisionID)] = [("a", RevisionID("2-x"))]
            try await ledger.adoptDatabase(identity: "old")
            try await ledger.saveCheckpoint(sequence(9))
            try await ledger.recordOwnRevisions(own)
            try await ledger.forgetDatabase(identity: "new")
            #expect(try ledger.databaseIdentity() == "new")
            #expect(try await ledger.ownRevisions(among: own) == [])
            #expect(try ledger.checkpoint()?.sequence == sequence(9))
        }
    }
}
