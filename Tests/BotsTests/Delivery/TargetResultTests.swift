import GatewayClient
import LosslessJSON
import Testing

@testable import BotState
@testable import Delivery
@testable import Rules

/// The results of writing other documents for a batch of decisions, by plan.
@Suite struct TargetResultTests {
    private func order(_ id: String, plan: Int, rule: String? = "r") throws -> PutOrder {
        let effect = PutEffect(
            id: id, keyspace: nil, document: try JSONText(#"{"_id":"\#(id)"}"#), ifExists: .merge)
        return PutOrder(
            plan: plan, effect: effect, rule: rule, home: try KeyspaceName("todo"), chain: RuleChain(["r"]))
    }

    @Test func planEndsByFailureOutdatedDecisionOrWait() throws {
        var result = TargetResult()
        result.fail(1, PlanFailure(rule: "r", reason: "no"))
        result.postpone(plans: [2], until: .now)
        result.outdated = [3]
        result.plansWithWrites = [4]
        #expect(result.ended == [1, 2, 3])
    }

    @Test func failureNamesTheDocumentAndTheRuleThatPutIt() throws {
        var result = TargetResult()
        for order in [try order("a", plan: 1), try order("b", plan: 5, rule: nil)] {
            result.fail(order.plan, order.failure("earlier"))
            // The last failure counts.
            result.fail(order.plan, order.failure("no"))
        }
        #expect(
            result.failures == [
                1: PlanFailure(rule: "r", reason: "document 'a', put by rule 'r': no"),
                5: PlanFailure(rule: nil, reason: "document 'b': no"),
            ])
    }

    @Test func planWaitsForTheLastOfItsBusyDocuments() throws {
        var result = TargetResult()
        let now = ContinuousClock.now
        for seconds in [2, 5, 3] { result.postpone(plans: [1], until: now + .seconds(seconds)) }
        result.postpone(plans: [2], until: now + .seconds(1))
        #expect(result.postponed == [1: now + .seconds(5), 2: now + .seconds(1)])
    }

    /// All orders of an ended plan are dropped; those of other plans stay.
    @Test func endedPlanIsNotWritten() throws {
        let batch = PutBatch([
            try order("a", plan: 1), try order("a", plan: 2), try order("b", plan: 1), try order("c", plan: 3),
        ])
        var result = TargetResult()
        func left() -> [[Int]] {
            result.withoutEnded(batch.targets, of: batch.orders).map { batch.plans(of: $0.orders) }
        }
        #expect(left() == [[1, 2], [1], [3]])
        result.outdated = [1]
        #expect(left() == [[2], [3]])
        #expect(result.withoutEnded(batch.targets, of: batch.orders).map(\.place.id) == ["a", "c"])
    }
}
