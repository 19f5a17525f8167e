import DocumentFlow
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

/// Rule chains follow causes. Many changes of one document are no chain, and loops end.
@Suite(.limitedParallelism) struct RuleChainTests {
    private static let invoices = """
        version: 1
        rules:
          - name: ask
            when: { type: invoice, number: { $exists: false } }
            then:
              - merge: { seen: true }
              - related:
                  selector: { _id: register, type: register }
                  then:
                    - merge:
                        jq: 'if .given[$source._id] then null else { next: (.next + 1), given: { ($source._id): .next } } end'
          - name: give
            when: { type: register, given: { $type: object, $ne: {} } }
            then:
              - related:
                  selector: { _id: { $in: { jq: .given | keys } }, type: invoice, number: { $exists: false } }
                  then: [{ merge: { number: { jq: '$source.given[._id]', type: integer } } }]
          - name: confirm
            when: { type: invoice, number: { $type: number } }
            then:
              - related:
                  selector: { _id: register, type: register }
                  then: [{ merge: { jq: '{ given: { ($source._id): null } }' } }]

        """

    /// A rule for orders that creates the invoices.
    private static let bill = """
          - name: bill
            when: { type: order }
            then: [{ put: { id: { jq: '"i." + ._id' }, document: { type: invoice }, if_exists: keep } }]

        """

    /// The register and another document write each other, endlessly.
    private static let spin = """
          - name: spin
            when: { type: register }
            then:
              - related:
                  selector: { _id: spinner }
                  then: [{ merge: { n: { jq: '(.n // 0) + 1', type: integer } } }]
          - name: back
            when: { _id: spinner, n: { $exists: true } }
            then:
              - related:
                  selector: { _id: register }
                  then: [{ merge: { spins: { jq: $source.n, type: integer } } }]

        """

    private static let register = (
        id: DocumentID("register"), body: #"{"_id":"register","type":"register","next":1,"given":{}}"#
    )

    @Test(arguments: [false, true]) func registerIsNoChain(isBilled: Bool) async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.invoices + (isBilled ? Self.bill : ""))
            try await bed.load([Self.register])
            let ids = (0..<40).map { DocumentID(isBilled ? "i.o\($0)" : "o\($0)") }
            try await bed.following(rules, configure: { $0.effectLimits = nil }) {
                for number in ids.indices {
                    try await bed.load([
                        (
                            DocumentID("o\(number)"),
                            #"{"_id":"o\#(number)","type":"\#(isBilled ? "order" : "invoice")"}"#
                        )
                    ])
                    // The next request starts while this one is being confirmed.
                    if number > 0 { try await bed.wait(until: ids[number - 1]) { $0["number"] != nil } }
                }
                try await bed.wait(until: ids) { $0["number"] != nil }
                try await bed.wait(until: "register") { document in
                    guard let given = document["given"] else { return false }
                    return given.members.first { _ in true } == nil
                }
            }
            #expect(try bed.deadLetters(rules).isEmpty)
        }
    }

    @Test func loopThroughABusyRegisterEnds() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.invoices + Self.spin)
            try await bed.load([Self.register, ("spinner", #"{"_id":"spinner"}"#)])
            try await bed.following(rules, configure: { $0.effectLimits = nil }) {
                let ids = (0..<20).map { DocumentID("o\($0)") }
                for id in ids { try await bed.load([(id, #"{"_id":"\#(id)","type":"invoice"}"#)]) }
                try await bed.wait(until: ids) { $0["number"] != nil }
            }
            for _ in 0..<3 { try await bed.runOnce(rules) { $0.effectLimits = nil } }
            let reasons = try bed.deadLetters(rules).map(\.reason)
            #expect(reasons.contains { $0.hasPrefix("rule chain: ") && $0.contains("spin") }, "\(reasons)")
            #expect(try await bed.runOnce(rules) { $0.effectLimits = nil }.written == 0)
        }
    }

    /// The documents already exist, their own rules also write them, and the loop begins elsewhere.
    @Test(arguments: ["put", "related"]) func loopOfExistingDocumentsEnds(action: String) async throws {
        try await BotTestBed.with { bed in
            func write(_ id: String) -> String {
                action == "put"
                    ? "{ put: { id: \(id), document: { n: { jq: '(.n // 0) + 1' } }, if_exists: merge } }"
                    : "{ related: { selector: { _id: \(id) }, then: [{ merge: { n: { jq: '($source.n // 0) + 1' } } }] } }"
            }
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - { name: ca, when: { _id: c }, then: [\(write("a"))] }
                  - { name: ab, when: { _id: a, n: { $exists: true } }, then: [\(write("b")), { merge: { m: { jq: .n } } }] }
                  - { name: ba, when: { _id: b, n: { $exists: true } }, then: [\(write("a"))] }
                """)
            try await bed.load(["a", "b", "c"].map { (DocumentID($0), #"{"_id":"\#($0)"}"#) })
            for _ in 0..<4 { try await bed.runOnce(rules) { $0.effectLimits = nil } }
            let reasons = try bed.deadLetters(rules).map(\.reason)
            #expect(reasons.count == 1 && reasons.allSatisfy { $0.hasPrefix("rule chain: ") }, "\(reasons)")
            #expect(try await bed.runOnce(rules) { $0.effectLimits = nil }.written == 0)
        }
    }

    @Test func retryBeginsANewChain() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: next
                    when: { n: { $lt: 15 } }
                    then: [{ put: { id: { jq: '"d\\(.n + 1)"' }, document: { n: { jq: .n + 1 } } } }]
                """)
            try await bed.load([("d0", #"{"_id":"d0","n":0}"#)])
            try await bed.runOnce(rules)
            let letter = try #require(try bed.deadLetters(rules).first)
            #expect(letter.id == "d10")
            let settings = Delivery.Settings()
            try await DeadLetterRetry(
                gateway: Gateway(bed.url, settings: bed.settings), ruleSet: rules, state: try bed.place(rules, "state"),
                name: "bot", choose: { _ in .numbers([letter.ledgerRecord?.number ?? 0]) }, outcome: RetryOutcome(),
                settings: settings, report: RunReport(), logger: BotTestBed.logger
            ).run()
            #expect(try bed.deadLetters(rules).isEmpty)
            #expect(try await bed.stored("d15") != nil)
        }
    }
}
