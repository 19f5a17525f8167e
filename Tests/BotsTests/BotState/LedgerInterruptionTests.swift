import BotState
import GatewayClient
import TestKit
import Testing

@testable import Delivery

/// Documents whose decision crashes the process.
@Suite struct LedgerInterruptionTests {
    /// Simulates a run that is killed while it decides these documents: its notes stay in the file.
    private func crash(_ bed: LedgerTestBed, over documents: [(DocumentID, String)]) async throws -> [Bool] {
        try await bed.using { ledger in
            let interruptions = try await ledger.interruptedDecisions()
            for (slot, document) in documents.enumerated() {
                interruptions.makeNote(slot).begin(document.0, RevisionID(document.1))
            }
            return documents.map { interruptions.isExcluded($0.0, RevisionID($0.1)) }
        }
    }

    @Test func revisionThatKilledTheProcessThreeTimesIsDeadLettered() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let id: DocumentID = "é\u{0}x"
            for _ in 0..<3 {
                let isExcluded = try await crash(bed, over: [("a", "1-a"), (id, "7-b")])
                #expect(isExcluded == [false, false])
            }
            let isExcluded = try await crash(bed, over: [(id, "7-b"), (id, "8-c"), ("a", "1-a")])
            #expect(isExcluded == [true, false, true])
        }
    }

    @Test(.limitedParallelism) func crashesAreCountedInFilesAndEngines() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            for count in 1...3 {
                let noted = try await ledger.noteInterruptions([(id: "a", revision: RevisionID("1-a"))])
                #expect(noted.map(\.crashCount) == [count])
            }
        }
    }

    /// It was decided concurrently with the document that crashes the process, each time.
    @Test func documentDecidedAfterACrashIsNotSuspected() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            for _ in 0..<2 { _ = try await crash(bed, over: [("a", "1-a"), ("b", "1-b")]) }
            try await bed.using { ledger in
                let interruptions = try await ledger.interruptedDecisions()
                #expect(interruptions.isSuspect("a") && interruptions.isSuspect("b"))
                try await ledger.forgetInterruptions(of: ["a"])
                interruptions.makeNote(0).begin("a", RevisionID("1-a"))
                interruptions.makeNote(1).begin("b", RevisionID("1-b"))
            }
            let isExcluded = try await crash(bed, over: [("a", "1-a"), ("b", "1-b")])
            #expect(isExcluded == [false, true])
        }
    }

    @Test func cleanEndLeavesNoInterruptions() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            for _ in 0..<4 {
                try await bed.using { ledger in
                    let interruptions = try await ledger.interruptedDecisions()
                    let note = interruptions.makeNote(0)
                    note.begin("a", RevisionID("1-a"))
                    note.end()
                    #expect(!interruptions.isExcluded("a", RevisionID("1-a")))
                }
            }
            try await bed.using { ledger in try await ledger.interruptedDecisions().close() }
            #expect(DecisionNoteFile.claim(bed.databasePath + ".deciding").left.isEmpty)
        }
    }

    @Test func idTooLongForASlotIsNotRecorded() async throws {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            let long = DocumentID(String(repeating: "x", count: 5000))
            for _ in 0..<4 {
                let isExcluded = try await crash(bed, over: [(long, "1-a")])
                #expect(isExcluded == [false])
            }
        }
    }
}
