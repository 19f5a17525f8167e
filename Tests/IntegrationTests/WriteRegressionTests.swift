import BotState
import Bots
import Delivery
import DocumentFlow
import EmbeddedGateway
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

/// Bugs that users of other bots and importers report, and what happens here: writing.
///
/// That a checkpoint must not be ahead of the work is also tested by `CrashTests`, which kills the program between any
/// two effects, and by `SafeSequenceTrackerTests`.
@Suite(.limitedParallelism) struct WriteRegressionTests {
    /// couchbackup 2.0.0, couchdb-nano: the sequence was saved before the work was done.
    @Test(arguments: [413, 429, 503])
    func checkpointStaysBeforeUnwrittenChanges(status: Int) async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.load(BotTestBed.tasks(0..<10))
            // Every answer is lost, then none: the first run gives up without knowing how many documents it has
            // written.
            try gateway.injectFaults(#"{"on":"_bulk_docs","drop":"after"}"#)
            let failure = await #expect(throws: RunError.self) {
                try await bed.runOnce(rules) { $0.delivery.retries.retryFor = .milliseconds(100) }
            }
            #expect(failure?.code == .gaveUp)
            let ledger = try bed.ledger(rules)
            #expect(try ledger.checkpoint()?.sequence.syncGatewayNumber ?? 0 <= 1)
            ledger.close()
            try gateway.injectFaults(#"{"on":"_bulk_docs","status":\#(status),"times":1}"#)
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 0)
            try await bed.expectDoneOnce(0..<10)
        }
    }

    /// cht-core#8539, #8566: a hundred changes fail, and the sequence never advances.
    @Test
    func hundredConsecutiveFailuresAreDeadLettered() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.load(BotTestBed.tasks(0..<100))
            try gateway.injectFaults(#"{"refuse_documents":1}"#)
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 100)
            #expect(counters.written == 0)
            gateway.stopFaults()
            try await bed.load(BotTestBed.tasks(100..<101))
            let next = try await bed.runOnce(rules)
            #expect(next.changes == 1)
            #expect(next.written == 1)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let deadLetters = try ledger.deadLetters()
            #expect(Set(deadLetters.map(\.id)) == Set(BotTestBed.tasks(0..<100).map(\.id)))
            #expect(deadLetters.allSatisfy { $0.reason.contains("refused on request") && $0.sequence != nil })
        }
    }

    /// cht-core#3275, functions-samples#158, docs-server PR#2882: the worker was triggered by its own writes.
    @Test
    func ownWritesCauseNoWrites() async throws {
        try await BotTestBed.withTrouble { bed, _ in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: stamp
                    when: { type: task }
                    then: [{ merge: { stamped: { jq: "$now" } } }]
                  - name: last
                    when: { type: last, done: { $exists: false } }
                    then: [{ merge: { done: true } }]
                """)
            try await bed.following(rules) {
                try await bed.load([("t", #"{"_id":"t","type":"task"}"#)])
                try await bed.wait(until: "t") { $0["stamped"] != nil }
                // This comes last in the feed: by then, the bot has seen its own writes.
                try await bed.load([("last", #"{"_id":"last","type":"last"}"#)])
                try await bed.wait(until: "last") { $0["done"] != nil }
            }
            #expect(try await bed.runOnce(rules).written == 0)
            guard case .found(let revision, _) = try await bed.phone.allDocs(keys: ["t"]).first else {
                Issue.record("not there")
                return
            }
            #expect(revision.generation == 2)
        }
    }

    /// sync_gateway#2878, couchdb#4851, mycouch#18, trombi#18: attachments vanished when a document was written without
    /// `_attachments`.
    @Test
    func attachmentsStay() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            try await bed.load(BotTestBed.tasks(0..<10))
            try gateway.injectFaults(#"{"refuse_documents":{"status":409},"times":1}"#)
            let counters = try await bed.runOnce(rules)
            #expect(counters.conflicts == 10)
            #expect(counters.written == 10)
            gateway.stopFaults()
            try await bed.expectDoneOnce(0..<10)
            for task in BotTestBed.tasks(0..<10) {
                #expect(try await bed.phone.attachment("note", of: task.id) == Array("hello".utf8))
            }
        }
    }

    /// couchbackup#164, couchdb-dump#8, couchdb-nano#119, pouchdb#5786, CDB PR#2910: a batch gets 413, or no answer.
    ///
    /// A single document that is too large: `BotTests.refusedDocumentIsDeadLetteredAndOthersAreWritten`.
    @Test(arguments: [1, 4])
    func oversizedBatchIsHalved(times: Int) async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            try await bed.load(BotTestBed.tasks(0..<64))
            try gateway.injectFaults(#"{"on":"_bulk_docs","status":413,"times":\#(times)}"#)
            let counters = try await bed.runOnce(try bed.rules(BotTestBed.doneRules)) {
                $0.delivery.capacity.writers = 1
            }
            #expect(counters.written == 64)
            #expect(counters.deadLetters == 0)
            #expect(gateway.faultCounts["status"] == times)
            gateway.stopFaults()
            try await bed.expectDoneOnce(0..<64)
        }
    }

    /// couchimport#59, #62, #42, couchdb-dump#50, #101, Ektorp#195: conflicts and refusals inside a 201 were ignored.
    @Test
    func eachDocumentOfAnAnswerIsAccountedFor() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            let rules = try bed.rules(BotTestBed.doneRules)
            let tasks = BotTestBed.tasks(0..<200)
            try await bed.load(tasks)
            try gateway.injectFaults(#"{"refuse_documents":{"share":0.3,"status":[403,413,503]}}"#)
            let counters = try await bed.runOnce(rules)
            gateway.stopFaults()
            #expect(counters.written + counters.deadLetters == 200)
            #expect(counters.deadLetters > 10 && counters.written > 100)
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            let deadLettered = Set(try ledger.deadLetters().map(\.id))
            #expect(deadLettered.count == counters.deadLetters)
            for (task, lookup) in zip(tasks, try await bed.phone.allDocs(keys: tasks.map(\.id))) {
                guard case .found(let revision, _) = lookup else { continue }
                #expect(revision.generation == (deadLettered.contains(task.id) ? 1 : 2), "\(task.id)")
            }
        }
    }

    /// couchimport#127, pouchdb#7229, spark-cloudant#79, cloudant-java-sdk#153: a 429 ends imports of a million rows.
    ///
    /// How the rate is determined: `AdaptiveRateTests`.
    @Test
    func retryAfterOfTheGatewayIsHonoured() async throws {
        try await BotTestBed.withTrouble { bed, gateway in
            try await bed.load(BotTestBed.tasks(0..<50))
            let busy = #""status":{"code":429,"retry_after":1}"#
            try gateway.injectFaults(#"{"on":"_bulk_docs",\#(busy),"times":1},{"on":"_changes",\#(busy),"times":1}"#)
            let counters = try await bed.runOnce(try bed.rules(BotTestBed.doneRules))
            #expect(counters.written == 50)
            #expect(counters.traffic.retries >= 2)
            gateway.stopFaults()
            try await bed.expectDoneOnce(0..<50)
        }
    }

    /// sync_gateway#3783, #3658, couchdb-fauxton#1425, couchdb#5449: 9223372036854775807 became …776000, and 1.00
    /// became 1.
    @Test(arguments: [
        "{ merge: { done: true } }", "{ merge: { done: { jq: \".task + 1\" } } }",
        "{ patch: [{ op: add, path: /done, value: true }] }",
        "{ patch: [{ op: copy, from: /n, path: /done }] }", "{ attach: { name: done, file: picture.png } }",
    ])
    func numbersKeepTheirText(action: String) async throws {
        let numbers = #""n":9223372036854775807,"d":1.00,"e":[1E400,-0,0.1000000000000000055511151231257827],"task":41"#
        try await BotTestBed.withTrouble { bed, _ in
            let rules = try bed.rules(
                "version: 1\nrules:\n  - name: r\n    when: { task: 41, done: { $exists: false } }\n    then: [\(action)]\n"
            )
            try await bed.load([("t", "{\"_id\":\"t\",\(numbers)}")])
            #expect(try await bed.runOnce(rules).written == 1)
            let stored = try #require(try await bed.stored("t"))
            #expect(String(decoding: stored.bytes, as: UTF8.self).contains(numbers))
        }
    }
}
