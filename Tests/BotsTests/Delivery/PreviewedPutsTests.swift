import GatewayClient
import LosslessJSON
import Testing

@testable import BotState
@testable import Delivery
@testable import Rules

/// What a dry run would `put`, in addition to its earlier puts.
@Suite struct PreviewedPutsTests {
    private func order(_ document: String, _ existing: PutEffect.Existing = .merge) throws -> PutOrder {
        let text = try JSONText(document)
        let effect = PutEffect(
            id: text.root["_id"]?.string ?? "", keyspace: nil, document: text, ifExists: existing)
        return PutOrder(
            plan: 0, effect: effect, rule: "rule", home: try KeyspaceName("todo"), chain: RuleChain(["rule"]))
    }

    private func texts(_ puts: [PreviewedPuts.Put]) -> [String] {
        puts.map { String(decoding: $0.document.bytes, as: UTF8.self) }
    }

    @Test(
        arguments: [
            ([], []),
            ([#"{"_id":"a","n":1}"#], [#"{"_id":"a","n":1}"#]),
            // The second order finds the document of the first.
            ([#"{"_id":"a","n":1}"#, #"{"_id":"a","n":1}"#], [#"{"_id":"a","n":1}"#]),
            ([#"{"_id":"a","n":1}"#, #"{"_id":"a","m":2}"#], [#"{"_id":"a","n":1}"#, #"{"_id":"a","n":1,"m":2}"#]),
            ([#"{"_id":"a","n":1}"#, #"{"_id":"b"}"#], [#"{"_id":"a","n":1}"#, #"{"_id":"b"}"#]),
        ] as [([String], [String])])
    func putsOfOneDecisionBuildOnEachOther(orders: [String], written: [String]) throws {
        var previewed = PreviewedPuts()
        let orders = try orders.map { try order($0) }
        let puts = try previewed.puts(for: orders, [:])
        #expect(texts(puts) == written)
        // A later decision finds them.
        previewed.note(puts)
        #expect(try previewed.puts(for: orders.suffix(1), [:]).isEmpty)
    }

    @Test func equalDocumentIsNotPutAgain() throws {
        let order = try order(#"{"_id":"a","n":1}"#)
        let there = DocumentLookup.found(RevisionID("3-c"), try JSONText(#"{"_id":"a","_rev":"3-c","n":1}"#))
        #expect(try PreviewedPuts().puts(for: [order], [order.place: there]).isEmpty)
    }

    @Test func impossiblePutEndsTheDecision() throws {
        let orders = [try order(#"{"_id":"a","n":1}"#), try order(#"{"_id":"b","n":1}"#)]
        let error = #expect(throws: PlanFailure.self) {
            try PreviewedPuts().puts(for: orders, [orders[1].place: .refused(reason: "forbidden")])
        }
        #expect(
            error == PlanFailure(rule: "rule", reason: "document 'b', put by rule 'rule': can't be read: forbidden"))
    }
}
