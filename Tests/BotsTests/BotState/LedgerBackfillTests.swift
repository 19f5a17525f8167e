import GatewayClient
import TestKit
import Testing

@testable import BotState

/// Orders to apply rules to all documents.
@Suite(.limitedParallelism) struct LedgerBackfillTests {
    private func backfill(_ ledger: Ledger, _ rule: String = "a") throws -> Backfill? {
        try ledger.backfills().first { $0.rule == rule }
    }

    @Test func ruleHasOneBackfillAtATime() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            #expect(try ledger.backfills().isEmpty)
            #expect(try await ledger.cancelBackfill(of: "a") == nil)
            #expect(try await ledger.orderBackfill(of: "a", selector: #"{"x":1}"#, rate: 7) == nil)
            #expect(try await ledger.orderBackfill(of: "b", selector: nil, rate: 7) == nil)
            let ordered = try #require(try backfill(ledger))
            #expect(ordered.selector == #"{"x":1}"# && ordered.rate == 7 && ordered.isOpen)
            #expect(ordered.begunAt == nil && ordered.lastID == nil && ordered.counts == Backfill.Counts())
            #expect(try await ledger.orderBackfill(of: "a", selector: nil, rate: 1) == ordered)

            try await ledger.noteBegun(ordered, expected: 100)
            let counts = Backfill.Counts(read: 50, matched: 20, written: 10, deadLetters: 1)
            try await ledger.note(ordered, upTo: "m\0", counts)
            // It continues later, perhaps in another process.
            try await ledger.noteBegun(ordered, expected: nil)
            let begun = try #require(try backfill(ledger))
            #expect(begun.begunAt != nil && begun.lastID == "m\0" && begun.expected == 100 && begun.counts == counts)
            try await ledger.noteEnded(begun)
            let ended = try #require(try backfill(ledger))
            #expect(!ended.isOpen && ended.problem == nil && ended.counts == counts)
            // The next one starts from the beginning.
            #expect(try await ledger.orderBackfill(of: "a", selector: nil, rate: 1) == nil)
            let second = try #require(try backfill(ledger))
            #expect(second.isOpen && second.lastID == nil && second.order > ended.order && second.counts.read == 0)
        }
    }

    @Test func cancelledBackfillLeavesNothing() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            _ = try await ledger.orderBackfill(of: "a", selector: nil, rate: 1)
            let ordered = try #require(try backfill(ledger))
            try await ledger.note(ordered, upTo: "m", Backfill.Counts(read: 5))
            #expect(try await ledger.cancelBackfill(of: "a")?.counts.read == 5)
            #expect(try ledger.backfills().isEmpty)
            // A part that was under way is recorded too late, perhaps after another order.
            #expect(try await ledger.orderBackfill(of: "a", selector: nil, rate: 1) == nil)
            try await ledger.note(ordered, upTo: "z", Backfill.Counts(read: 9))
            try await ledger.noteEnded(ordered)
            let next = try #require(try backfill(ledger))
            #expect(next.isOpen && next.lastID == nil && next.counts.read == 0)
        }
    }

    @Test func resetDatabaseIsBackfilledFromItsBeginning() async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            _ = try await ledger.orderBackfill(of: "a", selector: nil, rate: 1)
            let ordered = try #require(try backfill(ledger))
            try await ledger.note(ordered, upTo: "m", Backfill.Counts(read: 5))
            try await ledger.startOver(identity: "new", at: .start, reason: "reset")
            #expect(try backfill(ledger)?.isOpen == true && backfill(ledger)?.lastID == nil)
        }
    }

    @Test func endedBackfillsAreForgotten() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            _ = try await ledger.orderBackfill(of: "a", selector: nil, rate: 1)
            try await ledger.noteEnded(try #require(try backfill(ledger)), problem: "p")
            #expect(try backfill(ledger)?.problem == "p")
            try await ledger.write { try $0.execute("UPDATE backfill SET ended_at = ended_at - 8 * 86400") }
            #expect(try ledger.backfills().isEmpty)
        }
    }
}
