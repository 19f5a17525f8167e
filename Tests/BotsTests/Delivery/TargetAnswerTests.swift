import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import BotState
@testable import Delivery
@testable import Rules

/// What the outcome of writing another document means.
@Suite struct TargetAnswerTests {
    private static let limit = 10

    private static func order(_ plan: Int, rules: [String] = ["r"]) throws -> PutOrder {
        let effect = PutEffect(id: "a", keyspace: nil, document: try JSONText(#"{"_id":"a"}"#), ifExists: .merge)
        return PutOrder(
            plan: plan, effect: effect, rule: rules.last, home: try KeyspaceName("todo"), chain: RuleChain(rules))
    }

    /// - Parameter unexplainedConflicts: How many conflicts occurred although no other writer changed the document.
    private static func target(orders: Int = 1, attempts: Int, conflicts: Int, unexplainedConflicts: Int) throws
        -> Target
    {
        var target = try #require(PutBatch(try (0..<orders).map { try order($0) }).targets.first)
        target.history.note(.missing)
        target.history.conflicts = conflicts
        for _ in 0..<unexplainedConflicts { target.history.note(.missing) }
        target.history.attempts = attempts
        return target
    }

    private static func write(_ orders: [Int] = [0], rest: [Int] = []) throws -> TargetWrite {
        TargetWrite(orders: orders, rest: rest, earlier: nil)
    }

    private static func document(_ text: String = "") throws -> JSONText {
        try JSONText(#"{"_id":"a","text":"\#(text)"}"#)
    }

    struct Case: Sendable {
        let outcome: BulkOutcome
        var attempts = 0
        var conflicts = 0
        var unexplainedConflicts = 0
        let result: WriteHistory.Advice
    }

    @Test(arguments: [
        Case(outcome: .written(RevisionID("2-b")), conflicts: 50, result: .written(RevisionID("2-b"))),
        Case(
            outcome: .rejected(status: 403, reason: "no"),
            result: .failed(reason: "the gateway refused it (403): no")),
        // A failed write is retried, but not forever.
        Case(outcome: .unmentioned, result: .again), Case(outcome: .unmentioned, attempts: 8, result: .again),
        Case(
            outcome: .unmentioned, attempts: 9,
            result: .failed(
                reason: "not accepted in 10 attempts; last result: the gateway's answer does not mention it")),
        Case(
            outcome: .failed(reason: "x"), attempts: 9,
            result: .failed(reason: "not accepted in 10 attempts; last result: the gateway failed to write it: x")),
        Case(outcome: .conflict, attempts: 9, result: .again),
        // If the gateway can't decide now, the document is not given up.
        Case(outcome: .undecided(reason: "busy"), attempts: 1000, conflicts: 1000, result: .again),
        // Other writers keep changing it.
        Case(outcome: .conflict, conflicts: 8, result: .again),
        Case(outcome: .conflict, conflicts: 9, result: .postponed),
        Case(outcome: .conflict, conflicts: 1000, result: .postponed),
        // No other writer changes it, but the gateway still reports conflicts.
        Case(outcome: .conflict, conflicts: 9, unexplainedConflicts: 9, result: .again),
        Case(
            outcome: .conflict, conflicts: 10, unexplainedConflicts: 10,
            result: .failed(reason: "not accepted in 10 attempts; last result: other writers keep changing it")),
    ])
    private func writeOutcomeLeadsToTheNextStep(test: Case) throws {
        var target = try Self.target(
            attempts: test.attempts, conflicts: test.conflicts, unexplainedConflicts: test.unexplainedConflicts)
        #expect(target.history.unexplainedConflicts == test.unexplainedConflicts)
        #expect(
            target.record(test.outcome, of: try Self.write(), try Self.document(), attemptLimit: Self.limit)
                == test.result)
    }

    /// How the outcomes of several writes are counted while no other writer changes the document.
    struct Count: Sendable {
        let outcomes: [BulkOutcome]
        var attempts = 0
        var conflicts = 0
        var unexplainedConflicts = 0
    }

    @Test(arguments: [
        Count(outcomes: [.unmentioned, .failed(reason: "")], attempts: 2),
        Count(outcomes: [.conflict, .conflict], conflicts: 2, unexplainedConflicts: 2),
        // Only consecutive conflicts are counted, and only a conflict is a refusal.
        Count(outcomes: [.undecided(reason: "")]),
        Count(outcomes: [.conflict, .undecided(reason: "")], unexplainedConflicts: 1),
        Count(outcomes: [.conflict, .unmentioned], attempts: 1, unexplainedConflicts: 1),
        Count(outcomes: [.conflict, .failed(reason: "")], attempts: 1, unexplainedConflicts: 1),
        Count(outcomes: [.conflict, .undecided(reason: ""), .conflict], conflicts: 1, unexplainedConflicts: 2),
    ])
    private func failedWritesAreCounted(test: Count) throws {
        var target = try Self.target(attempts: 0, conflicts: 0, unexplainedConflicts: 0)
        for outcome in test.outcomes {
            let result = target.record(outcome, of: try Self.write(), try Self.document(), attemptLimit: Self.limit)
            #expect(result == .again)
            target.history.note(.missing)
        }
        #expect(target.history.attempts == test.attempts && target.history.conflicts == test.conflicts)
        #expect(target.history.unexplainedConflicts == test.unexplainedConflicts)
    }

    /// A document is postponed after ten consecutive conflicts, each caused by another writer.
    @Test(
        arguments: [
            ([(.conflict, 9)], .again), ([(.conflict, 10)], .postponed),
            ([(.conflict, 9), (.undecided(reason: ""), 1)], .again),
            ([(.conflict, 9), (.undecided(reason: ""), 1), (.conflict, 1)], .again),
            ([(.conflict, 10), (.unmentioned, 1)], .again),
        ] as [([(BulkOutcome, Int)], WriteHistory.Advice)])
    private func consecutiveConflictsPostponeTheWrite(
        outcomes: [(BulkOutcome, Int)], last: WriteHistory.Advice
    ) throws {
        var target = try Self.target(attempts: 0, conflicts: 0, unexplainedConflicts: 0)
        var result: WriteHistory.Advice?
        let each = outcomes.flatMap { Array(repeating: $0.0, count: $0.1) }
        for (number, outcome) in each.enumerated() {
            target.history.note(.found(RevisionID("\(number + 1)-a"), try JSONText("{}")))
            result = target.record(outcome, of: try Self.write(), try Self.document(), attemptLimit: Self.limit)
        }
        #expect(result == last)
    }

    /// The gateway may refuse only one of the orders, so each is attempted alone.
    @Test func ordersRefusedTogetherAreRetriedAlone() throws {
        var target = try Self.target(orders: 3, attempts: 0, conflicts: 0, unexplainedConflicts: 0)
        let refusal = BulkOutcome.rejected(status: 403, reason: "no")
        #expect(
            target.record(refusal, of: try Self.write([0, 1, 2]), try Self.document(), attemptLimit: Self.limit)
                == .split)
        #expect(target.isSplit && target.orders == [0, 1, 2])
        let alone = try Self.write([0], rest: [1, 2])
        #expect(target.record(refusal, of: alone, try Self.document(), attemptLimit: Self.limit) != .again)
        #expect(
            target.record(.written(RevisionID("1-a")), of: alone, try Self.document(), attemptLimit: Self.limit)
                != .again)
        #expect(target.orders == [1, 2])
    }

    @Test func nothingRemainsAfterTheWrite() throws {
        var target = try Self.target(orders: 2, attempts: 0, conflicts: 0, unexplainedConflicts: 0)
        _ = target.record(
            .written(RevisionID("1-a")), of: try Self.write([0, 1]), try Self.document(), attemptLimit: Self.limit)
        #expect(target.orders.isEmpty)
    }

    /// There may be very many of them, and each may be large.
    @Test func contentIsNotKeptUntilItsWriteIsConfirmed() throws {
        var target = try Self.target(attempts: 0, conflicts: 0, unexplainedConflicts: 0)
        let document = try Self.document(String(repeating: "y", count: 100_000))
        _ = target.record(.conflict, of: try Self.write(), document, attemptLimit: Self.limit)
        #expect(heldBytes(target) < 1000)
        #expect(target.takeConfirmedWrite(.found(RevisionID("2-b"), try Self.document("other"))) == nil)
        _ = target.record(.conflict, of: try Self.write(), document, attemptLimit: Self.limit)
        #expect(target.takeConfirmedWrite(.found(RevisionID("2-b"), document))?.revision == RevisionID("2-b"))
    }

    @Test func lastRulesOfAllOrdersAreNamedOnce() throws {
        let batch = PutBatch([
            try Self.order(0, rules: ["a", "b"]), try Self.order(1, rules: ["c", "d", "b"]),
            try Self.order(2, rules: ["e"]), try Self.order(3, rules: []),
        ])
        #expect(batch.rules(of: [0, 1, 2]) == ["b", "e"])
        #expect(batch.chain(of: [0, 1, 2]).rules == ["e"])
        #expect(batch.rules(of: [0, 1, 2, 3]) == ["b", "e"])
        #expect(batch.chain(of: [0, 1, 2, 3]).rules.isEmpty)
    }
}
