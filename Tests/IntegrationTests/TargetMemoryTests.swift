import Bots
import DocumentFlow
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import BotState
@testable import Delivery
@testable import Rules

/// Large documents that rules change although they were not the decided ones.
@Suite(.limitedParallelism) struct TargetMemoryTests {
    private static let count = 12
    /// The size of each document's text. With all its forms, a document takes three times as much.
    private static let size = 300_000
    private static let budget = 1_200_000

    /// Rules that change the documents `b0` to `b11`, and the member that they set.
    private static let rules = [
        "put: { id: { jq: .big }, document: { visits: 1 }, if_exists: merge }",
        "aggregate: { into: { jq: .big }, count: { visits: true } }",
        "related: { selector: { _id: { jq: .big } }, then: [{ merge: { visits: 1 } }] }",
    ].map { "{ name: visit, when: { type: small }, then: [{ \($0) }] }" }

    private static let ofOneChange =
        #"{ name: visit, when: { _id: s0 }, then: [{ for_each: "range(12)", "#
        + #"put: { id: { jq: '"b\($item)"' }, document: { visits: 1 }, if_exists: merge } }] }"#

    private func load(_ bed: BotTestBed) async throws {
        let text = String(repeating: "y", count: Self.size)
        for number in 0..<Self.count {
            try await bed.phone.put(DocumentID("b\(number)"), body: Array(#"{"type":"big","text":"\#(text)"}"#.utf8))
        }
        try await bed.load(
            (0..<Self.count).map { (DocumentID("s\($0)"), #"{"_id":"s\#($0)","type":"small","big":"b\#($0)"}"#) })
    }

    /// There is always room for one document of the largest size, and for another that arrives before its size is
    /// known.
    private func expectWithinBudget(_ pool: MemoryPool) {
        let largest = Content.copies * Self.size
        #expect(pool.peakUse >= largest)
        #expect(pool.peakUse <= Self.budget + 2 * largest)
    }

    @Test(arguments: rules + [ofOneChange])
    private func targetsAreReadAsMemoryAllows(rule: String) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules("version: 1\nrules:\n  - \(rule)")
            try await load(bed)
            let pool = MemoryPool(bytes: Self.budget)
            let counters = try await bed.runOnce(rules) { $0.delivery.capacity.memory = pool }
            #expect(counters.deadLetters == 0)
            for number in 0..<Self.count {
                #expect(try await bed.stored(DocumentID("b\(number)"))?.root["visits"]?.integer == 1)
            }
            expectWithinBudget(pool)
        }
    }

    /// What actions on related documents `put` was computed for all documents of a page at once. The smallest are
    /// computed together, the others alone.
    @Test(arguments: [60_000, 300_000, 1_200_000])
    private func putsOfRelatedDocumentsAreComputedAsMemoryAllows(size: Int) async throws {
        try await BotTestBed.with { bed in
            let put =
                "put: { id: { jq: '\"p\" + ._id' }, document: { text: { jq: '\"y\" * \(size)' } }, "
                + "if_exists: replace }"
            let rules = try bed.rules(
                "version: 1\nrules:\n  - { name: all, when: { _id: t }, then: [{ related: { selector: { type: leaf }, "
                    + "then: [{ \(put) }, { merge: { done: true } }] } }] }")
            try await bed.load(
                (0..<Self.count).map { (DocumentID("l\($0)"), #"{"_id":"l\#($0)","type":"leaf"}"#) }
                    + [("t", #"{"_id":"t"}"#)])
            let pool = MemoryPool(bytes: Self.budget)
            let counters = try await bed.runOnce(rules) { $0.delivery.capacity.memory = pool }
            #expect(counters.deadLetters == 0)
            for number in 0..<Self.count {
                let text = try await bed.stored(DocumentID("pl\(number)"))?.root["text"]?.string
                #expect(text?.utf8.count == size)
                #expect(try await bed.stored(DocumentID("l\(number)"))?.root["done"]?.bool == true)
            }
            let largest = Content.copies * max(size, Self.size)
            #expect(pool.peakUse >= size && pool.peakUse <= Self.budget + 2 * largest, "\(pool.peakUse)")
        }
    }

    @Test func dryRunReadsTargetsAsMemoryAllows() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules("version: 1\nrules:\n  - \(Self.rules[0])")
            try await load(bed)
            let pool = MemoryPool(bytes: Self.budget)
            let counters = try await bed.fix(rules) { settings in
                settings.capacity.memory = pool
                settings.preview = Preview { _ in }
            }
            #expect(counters.matched == Self.count)
            expectWithinBudget(pool)
        }
    }

    /// Regression: their contents were kept until the last one was written.
    @Test(arguments: [Mode.follow(nil), .once(nil)])
    private func writtenTargetsAreNotKeptInMemory(mode: Mode) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules("version: 1\nrules:\n  - \(Self.rules[0])")
            try await load(bed)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let delivery = try await Delivery(
                gateway: bed.phone, ruleSet: rules, ledger: ledger, mode: mode, settings: Delivery.Settings(),
                logger: BotTestBed.logger)
            let orders = try (0..<Self.count).map { number in
                let effect = PutEffect(
                    id: "b\(number)", keyspace: nil, document: try JSONText(#"{"_id":"b\#(number)","visits":1}"#),
                    ifExists: .merge)
                return PutOrder(
                    plan: number, effect: effect, rule: "visit", home: bed.phone.url.keyspace,
                    chain: RuleChain(["visit"]))
            }
            let triggers = orders.map { _ in
                Trigger(id: "s0", revision: nil, isWritten: true, willBeDecidedAgain: true)
            }
            var writer = WriterContext(delivery.context, writer: 0)
            let result = try await writer.put.targets.write(PutBatch(orders), triggers: triggers)
            #expect(result.documents.count == Self.count)
            #expect(result.documents.allSatisfy { $0.byteCount > Self.size })
            #expect(heldBytes(result) < Self.size)
        }
    }
}
