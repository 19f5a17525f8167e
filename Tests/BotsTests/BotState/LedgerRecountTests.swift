import TestKit
import Testing

@testable import BotState
@testable import Rules

@Suite(.limitedParallelism) struct LedgerRecountTests {
    /// A run that begins behind changes that its state has not seen counts all documents again, as one that begins at the
    /// copy of a checkpoint with a state from before its first checkpoint.
    @Test func documentsAreCountedAgain() async throws {
        let rules = try ruleSet(
            """
            version: 1
            rules:
              - name: tasks
                when: { type: task }
                then: [{ aggregate: { into: total, count: { tasks: true } } }]

            """
        ).aggregates
        try await LedgerTestBed.withLedgers { _, ledger in
            try await ledger.countAgain()
            let number = try #require(try await ledger.openCounts(rules, countsAlone: true)[0]?.number)
            try await ledger.completeCounts([number])
            #expect(try await ledger.countedRules() == [number: true])
            try await ledger.countAgain()
            #expect(try await ledger.countedRules() == [number: false])
        }
    }
}
