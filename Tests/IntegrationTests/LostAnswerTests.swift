import BotState
import Bots
import DocumentFlow
import EmbeddedGateway
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

/// Runs whose writes to other documents get no answer, although the gateway has made the writes.
@Suite(.limitedParallelism) struct LostAnswerTests {
    /// Regression: a document whose write got no answer was not decided in this run, and never by `fix`.
    @Test(arguments: [
        "put: { id: other, document: { type: other } }",
        "related: { selector: { type: waiting }, then: [ { merge: { type: other } } ] }",
        "aggregate: { into: other, count: { n: true }, document: { type: other } }",
    ])
    func writeWithALostAnswerIsDecided(action: String) async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: first
                    when: { type: task }
                    then: [ { \(action) } ]
                  - name: second
                    when: { type: other, seen: { $exists: false } }
                    then: [ { merge: { seen: true } } ]
                """)
            try await bed.load([("t", #"{"_id":"t","type":"task"}"#)])
            if action.hasPrefix("related") { try await bed.load([("other", #"{"_id":"other","type":"waiting"}"#)]) }
            try embedded.injectFaults(#"{"drop":"after","on":"_bulk_docs","every":1,"times":1}"#)
            let counters =
                action.hasPrefix("aggregate") ? try await bed.runOnce(rules) : try await bed.fix(rules)
            #expect(try await bed.stored("other")?.root["seen"]?.bool == true)
            #expect(counters.written == 2 && counters.traffic.retries == 1)
        }
    }

    /// The chain is remembered, too.
    @Test func rulesThatWriteForEachOtherStopDespiteLostAnswers() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: one
                    when: { type: one }
                    then: [ { put: { id: two, document: { type: two, n: { jq: .n + 1 } }, if_exists: replace } } ]
                  - name: two
                    when: { type: two }
                    then: [ { put: { id: one, document: { type: one, n: { jq: .n + 1 } }, if_exists: replace } } ]
                """)
            try await bed.load([("one", #"{"_id":"one","type":"one","n":0}"#)])
            try embedded.injectFaults(#"{"drop":"after","on":"_bulk_docs","every":1,"times":1}"#)
            _ = try await bed.runOnce(rules)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.deadLetters().map(\.reason) == ["rule chain: one → two → one"])
        }
    }

    /// Regression: Sync Gateway lists no tombstones, so after each conflict the bot considered the tombstone that it
    /// had read the current one.
    @Test func replacedTombstoneIsSkipped() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: seen
                    on: [change, delete]
                    when: { seen: { $exists: false } }
                    then: [ { merge: { seen: true } } ]
                """)
            try await bed.load([("t", #"{"_id":"t","_deleted":true,"type":"task"}"#)])
            try embedded.injectFaults(#"{"drop":"after","on":"_bulk_docs","every":1,"times":1}"#)
            let (bot, report) = try bed.bot(rules)
            try await bot.run()
            let (counters, facts) = (await report.counters(), await report.facts())
            #expect(counters.deadLetters == 0 && counters.conflicts == 1)
            // Nothing of the memory budget is lost.
            #expect(facts.bytesInFlight == 0 && facts.documentsInFlight == 0)
            let leaves = try await bed.phone.openRevisions(of: "t")
            let tombstone = try #require(leaves.winningTombstone)
            #expect(tombstone.revision.generation == 2 && tombstone.text.root["seen"]?.bool == true)
        }
    }

    /// Regression: the document kept its share of the memory budget while it was read again, and was counted twice.
    @Test func tombstoneWrittenAgainAfterAConflictIsRecordedOnce() async throws {
        try await BotTestBed.withTrouble { bed, embedded in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: seen
                    on: [change, delete]
                    when: { seen: { $exists: false } }
                    then: [ { merge: { seen: true } } ]
                """)
            let text = String(repeating: "y", count: 50_000)
            try await bed.load([("t", #"{"_id":"t","_deleted":true,"text":"\#(text)"}"#)])
            // The gateway still has this tombstone after each of these conflicts.
            try embedded.injectFaults(#"{"on":"_bulk_docs","refuse_documents":{"status":409},"times":2}"#)
            let (bot, report) = try bed.bot(rules)
            try await bot.run()
            let (counters, facts) = (await report.counters(), await report.facts())
            #expect(counters.deadLetters == 0 && counters.conflicts == 2 && counters.written == 1)
            #expect(facts.bytesInFlight == 0 && facts.documentsInFlight == 0)
            let tombstone = try #require(try await bed.phone.openRevisions(of: "t").winningTombstone)
            #expect(tombstone.revision.generation == 2 && tombstone.text.root["seen"]?.bool == true)
        }
    }
}
