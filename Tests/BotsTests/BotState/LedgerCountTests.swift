import GatewayClient
import Testing

@testable import BotState
@testable import Rules

@Suite struct LedgerCountTests {
    private static let rule = AggregateRule(
        index: 0, name: "tasks", fingerprint: "1", members: ["count"], literalMembers: [])

    @Test func newRuleIsUnfinishedUntilAllDocumentsAreCounted() async throws {
        try await LedgerTestBed.withLedgers { _, ledger in
            #expect(try ledger.hasUnfinishedCounts() == false)
            let number = try #require(try await ledger.openCounts([Self.rule], countsAlone: true)[0]?.number)
            #expect(try ledger.hasUnfinishedCounts())
            try await ledger.completeCounts([number])
            #expect(try ledger.hasUnfinishedCounts() == false)
            // Without the rule, nothing is left to count.
            _ = try await ledger.openCounts([Self.rule], countsAlone: true)
            try await ledger.restartCounts([number])
            _ = try await ledger.openCounts([], countsAlone: true)
            #expect(try ledger.hasUnfinishedCounts() == false)
        }
    }
}
