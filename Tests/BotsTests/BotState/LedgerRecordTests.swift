import GatewayClient
import TestKit
import Testing

@testable import BotState
@testable import DocumentFlow
@testable import Rules

/// The records of settled candidates are saved in one transaction.
@Suite(.limitedParallelism) struct LedgerRecordTests {
    private func deadLetter(_ id: DocumentID, _ revision: String = "1-a") -> DeadLetter {
        DeadLetter(sequence: nil, id: id, revision: RevisionID(revision), reason: "r")
    }

    private func resolved(_ id: DocumentID) -> Ledger.ResolvedDocument {
        Ledger.ResolvedDocument(id: id, rules: nil, failedRules: [], highestDeadLetterNumber: .max)
    }

    @Test func recordIsSavedInOneTransaction() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.keep([deadLetter("old"), deadLetter("retried"), deadLetter("again")])
            let stored = try await ledger.store(
                Record(
                    resolved: [resolved("old"), resolved("without")],
                    deadLetters: [deadLetter("again"), deadLetter("new")], retried: [2, 3],
                    times: TimeChanges(
                        documents: [TimedDocument(id: "t", times: [RuleTime(rule: "r", due: 5, hasFired: false)])]),
                    caused: [.init(id: "c", revision: RevisionID("1-c"), chain: RuleChain().followed(by: "r"))],
                    ownWrites: [OwnWrite(id: "o", revision: RevisionID("1-o"), content: nil)]))
            #expect(stored.dropped.map(\.id) == ["old"] && stored.dropped.map(\.count) == [1])
            // The replaced dead letter keeps its number, and is not dropped with the retried ones.
            #expect(stored.deadLetterNumbers == [3, 4])
            #expect(!stored.hasChangedTotal)
            #expect(try ledger.deadLetters().map(\.id) == ["again", "new"])
            #expect(try ledger.waitingTimers(limit: 9).count == 1)
            #expect(try await ledger.chains(of: [("c", RevisionID("1-c"))]).map(\.rules) == [["r"]])
            let earlier = try await ledger.earlierWrites(of: [("o", RevisionID("1-o"))], since: .max)
            #expect(earlier.map(\.writes.count) == [1])
        }
    }

    /// The last part fails, so the earlier ones are rolled back.
    @Test func failingPartUndoesTheRecord() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            try await ledger.write { try $0.execute("DROP TABLE interrupted_decision") }
            await #expect(throws: StateError.self) {
                try await ledger.store(
                    Record(
                        deadLetters: [deadLetter("a")],
                        ownWrites: [OwnWrite(id: "o", revision: RevisionID("1-o"), content: nil)],
                        survivedDocuments: ["a"]))
            }
            #expect(try ledger.deadLetters().isEmpty)
            let earlier = try await ledger.earlierWrites(of: [("o", RevisionID("1-o"))], since: .max)
            #expect(earlier.map(\.writes.count) == [0])
        }
    }
}
