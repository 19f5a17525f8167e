import GatewayClient
import LosslessJSON
import Testing

@testable import BotState
@testable import Delivery
@testable import Rules

/// What a `put` must write, depending on the existing document.
@Suite struct PutBatchTests {
    private static let home = "todo"

    private func order(
        _ document: String, _ existing: PutEffect.Existing = .merge, keyspace: String? = nil,
        plan: Int = 0
    ) throws -> PutOrder {
        let text = try JSONText(document)
        let effect = PutEffect(
            id: text.root["_id"]?.string ?? "", keyspace: keyspace, document: text, ifExists: existing)
        return PutOrder(
            plan: plan, effect: effect, rule: "rule\(plan)", home: try KeyspaceName(Self.home),
            chain: RuleChain(["rule\(plan)"]))
    }

    /// What the first target of a batch needs.
    private func need(
        _ orders: [PutOrder], _ lookup: DocumentLookup, isSplit: Bool = false
    ) throws -> (need: TargetNeed, failures: [Int: PlanFailure]) {
        let batch = PutBatch(orders)
        var targets = batch.targets
        targets[0].isSplit = isSplit
        let needs = batch.needs(targets, [lookup], ended: [])
        return (needs.needs[0], needs.failures)
    }

    private func found(_ document: String) throws -> DocumentLookup {
        .found(RevisionID("3-c"), try JSONText(document))
    }

    @Test(
        arguments: [
            // There is no document: it is written unchanged; for a merge, without null members.
            (.keep, nil, #"{"_id":"a","n":1,"x":null}"#), (.replace, nil, #"{"_id":"a","n":1,"x":null}"#),
            (.merge, nil, #"{"_id":"a","n":1}"#),
            // A document that is already right is not written again.
            (.merge, #"{"_id":"a","_rev":"3-c","n":1,"y":2}"#, nil), (.keep, #"{"_id":"a","_rev":"3-c","n":5}"#, nil),
            (.replace, #"{"_id":"a","_rev":"3-c","x":null,"n":1}"#, nil),
            // A write names the revision that was read, and keeps other members.
            (.merge, #"{"_id":"a","_rev":"3-c","n":5,"y":2}"#, #"{"_id":"a","_rev":"3-c","n":1,"y":2}"#),
            (.merge, #"{"_id":"a","_rev":"3-c","_cv":"9@x","n":5}"#, #"{"_id":"a","_rev":"3-c","n":1}"#),
        ] as [(PutEffect.Existing, String?, String?)])
    private func putWritesTheWantedContent(existing: PutEffect.Existing, present: String?, written: String?) throws {
        let (need, failures) = try need(
            [try order(#"{"_id":"a","n":1,"x":null}"#, existing)], try present.map(found) ?? .missing)
        #expect(need.content?.document.string == written)
        #expect(need.isWrite == (written != nil) && need.orders.count == (written == nil ? 0 : 1))
        #expect(failures.isEmpty && need.rest.isEmpty)
    }

    /// A tombstone counts as no document: the `put` creates a new one.
    @Test func putOverATombstoneIsNew() throws {
        let (need, _) = try need([try order(#"{"_id":"a"}"#)], .deleted(RevisionID("4-d")))
        #expect(need.content?.document.string == #"{"_id":"a"}"#)
    }

    @Test func unreadableTargetFailsOnlyItsPlans() throws {
        let (need, failures) = try need([try order(#"{"_id":"a"}"#, plan: 3)], .refused(reason: "forbidden"))
        #expect(!need.isWrite)
        #expect(
            failures == [
                3: PlanFailure(rule: "rule3", reason: "document 'a', put by rule 'rule3': can't be read: forbidden")
            ])
    }

    /// The orders of a batch for one document become one write. Each is applied to the result of the previous one.
    @Test func putsOfOneDocumentAreOneWrite() throws {
        let orders = [try order(#"{"_id":"a","n":1}"#, plan: 0), try order(#"{"_id":"a","m":2}"#, plan: 1)]
        #expect(PutBatch(orders).targets.count == 1)
        let (need, _) = try need(orders, .missing)
        #expect(need.content?.document.string == #"{"_id":"a","n":1,"m":2}"#)
        #expect(need.orders == [0, 1])
    }

    @Test func putsThatCancelOutWriteNothing() throws {
        let orders = [try order(#"{"_id":"a","n":1}"#, plan: 0), try order(#"{"_id":"a","n":5}"#, plan: 1)]
        let (need, _) = try need(orders, try found(#"{"_id":"a","_rev":"3-c","n":5}"#))
        #expect(!need.isWrite)
    }

    /// After a refusal, each order is attempted alone, so a refused one does not fail the others.
    @Test func othersWaitWhilePutsGoOneByOne() throws {
        let orders = [try order(#"{"_id":"a","n":1}"#, plan: 0), try order(#"{"_id":"a","m":2}"#, plan: 1)]
        let (need, _) = try need(orders, .missing, isSplit: true)
        #expect(need.orders == [0] && need.rest == [1])
        #expect(need.content?.document.string == #"{"_id":"a","n":1}"#)
    }

    /// The same id in another keyspace is another document. Naming the followed keyspace makes no difference.
    @Test func keyspacesAreDistinguished() throws {
        let orders = [
            try order(#"{"_id":"a"}"#, plan: 0), try order(#"{"_id":"a"}"#, keyspace: "todo.s.c", plan: 1),
            try order(#"{"_id":"a"}"#, keyspace: Self.home, plan: 2),
        ]
        #expect(PutBatch(orders).targets.map(\.orders) == [[0, 2], [1]])
    }

    /// A conflict is a refusal if the document has not changed, but not if another writer changed it.
    @Test func conflictWithoutAChangeCountsAsRefusal() throws {
        var history = WriteHistory()
        let same = try found(#"{"_id":"a","_rev":"3-c"}"#)
        history.note(same)
        for expected in 1...3 {
            history.conflicts += 1
            history.note(same)
            #expect(history.unexplainedConflicts == expected)
        }
        history.conflicts += 1
        history.note(.found(RevisionID("4-d"), try JSONText("{}")))
        #expect(history.unexplainedConflicts == 0)
    }
}
