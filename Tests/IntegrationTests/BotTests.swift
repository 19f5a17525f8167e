import BotState
import Bots
import Delivery
import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

@Suite(.limitedParallelism) struct BotTests {
    @Test func tasksGetTheirPictureAndTheSecondRunWritesNothing() async throws {
        try await BotTestBed.with { bed in
            try await bed.load([
                task("t1", "apple"), task("t2", "Coffee"), task("t3", "POTATOES"), task("t4", "apple juice"),
                ("L1", #"{"_id":"L1","type":"task-list","name":"apple","owner":"amy"}"#),
            ])
            let first = try await bed.runOnce()
            #expect(first.written == 3)
            #expect(first.matched == 3)
            #expect(first.rules.fired.values.reduce(0, +) == 3)
            for (id, asset) in [("t1", "apple.png"), ("t2", "coffee.png"), ("t3", "potatoes.png")] {
                #expect(try await bed.phone.attachment("image", of: DocumentID(id)) == BotTestBed.asset(asset))
            }
            #expect(try await bed.phone.attachment("image", of: "t4") == nil)
            #expect(try await bed.phone.attachment("image", of: "L1") == nil)

            #expect(try await bed.runOnce().written == 0)
            let secondRun = try await bed.runOnce(state: "another") { $0.feed.since = .beginning }
            #expect(secondRun.written == 0)
            #expect(secondRun.changes >= 5)
        }
    }

    @Test func untouchedBytesAreWrittenUnchanged() async throws {
        let members =
            #""z":12345678901234567890123,"a":1.10,"dup ":[1e5, -0,0.30000000000000004],"type":"task","é\u00e9":"\/\ud83d\ude00","nested":{"b":{}, "a":[ ]},"task":"apple""#
        try await BotTestBed.with { bed in
            try await bed.load([("t1", #"{"_id":"t1",\#(members)}"#)])
            let before = try #require(try await bed.stored("t1"))
            #expect(try await bed.runOnce().written == 1)
            let after = try #require(try await bed.stored("t1"))
            #expect(after.root["_attachments"]?["image"]?["stub"]?.bool == true)
            // Servers may rewrite a document when it is loaded, so compare with what they returned.
            for member in before.root.members where !member.name.rawContent.starts(with: "_".utf8) {
                #expect(after.root.member(named: member.name.utf8 ?? [])?.bytes == member.value.bytes)
            }
            if try RealServer.fromEnvironment() == nil {
                #expect(String(decoding: after.bytes, as: UTF8.self).contains(members))
            }
        }
    }

    @Test func otherAttachmentsStay() async throws {
        try await BotTestBed.with { bed in
            try await bed.load([
                (
                    "t1",
                    #"{"_id":"t1","type":"task","task":"apple","_attachments":{"note.txt":{"content_type":"text/plain","data":"aGVsbG8="}}}"#
                )
            ])
            #expect(try await bed.runOnce().written == 1)
            #expect(try await bed.phone.attachment("note.txt", of: "t1") == Array("hello".utf8))
            #expect(try await bed.phone.attachment("image", of: "t1") == BotTestBed.asset("apple.png"))
        }
    }

    @Test func existingPictureIsNotSentAgain() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: always
                    when: { type: task }
                    then: [{ attach: { name: image, file: picture.png } }]
                """)
            try await bed.load([task("t1", "apple")])
            #expect(try await bed.runOnce(rules).written == 1)
            // The first run may end before its own write in the feed, and a new state would begin there.
            let again = try await bed.runOnce(rules, state: "another") { $0.feed.since = .beginning }
            #expect(again.written == 0)
            #expect(again.unchanged == 1)
        }
    }

    /// A rule whose effect leaves its own selector true, with a different result each time, would fire endlessly.
    @Test func ownRevisionsAreNotDecidedAgain() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: always
                    when: { type: task }
                    then: [{ attach: { name: image, file: picture.png } }]
                """)
            try await bed.load([task("t1", "apple")])
            try await bed.runOnce(rules)
            let second = try await bed.runOnce(rules)
            #expect(second.changes >= 1)
            #expect(second.matched == 0)
        }
    }

    @Test func taskWrittenDuringALongpollGetsItsPicture() async throws {
        try await BotTestBed.with { bed in
            let counters = try await bed.following {
                for number in 0..<20 {
                    try await bed.load([task("t\(number)", "apple")])
                    try await bed.wait(until: DocumentID("t\(number)")) { $0["_attachments"]?["image"] != nil }
                }
            }
            #expect(counters.written == 20)
            #expect(try await bed.runOnce().written == 0)
        }
    }

    /// Regression: a run that began at the copy of the checkpoint replaced that copy with nothing.
    @Test func repeatedlyLostStateCausesNoWrites() async throws {
        try await BotTestBed.with { bed in
            try await bed.load([("t1", #"{"_id":"t1","type":"task","task":"tea"}"#)])
            #expect(try await bed.runOnce(state: "first").changes > 0)
            // Reading the feed again may change its last sequence.
            try await bed.runOnce(state: "first")
            for state in ["second", "third", "fourth"] {
                #expect(try await bed.runOnce(state: state).changes == 0, "\(state)")
            }
        }
    }

    /// The phone keeps writing the documents that the bot writes. No edit is lost, of either.
    @Test func conflictsAreReadAgainAndDecidedAgain() async throws {
        try await BotTestBed.with { bed in
            let ids = (0..<20).map { DocumentID("t\($0)") }
            try await bed.following {
                try await bed.load(ids.map { task($0.text, "apple") })
                try await withThrowingTaskGroup { group in
                    for id in ids {
                        group.addTask { try await bed.incrementCount(id, to: 10) }
                    }
                    try await group.waitForAll()
                }
                try await bed.wait(until: ids) { $0["_attachments"]?["image"] != nil }
            }
            try await bed.runOnce()
            for id in ids {
                let document = try #require(try await bed.stored(id))
                #expect(document.root["count"]?.integer == 10)
                #expect(try await bed.phone.attachment("image", of: id) == BotTestBed.asset("apple.png"))
            }
        }
    }

    @Test func rulesThatUndoEachOtherAreDeadLetteredAndTheFeedContinues() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - { name: "on", when: { switch: false }, then: [{ merge: { switch: true } }] }
                  - { name: "off", when: { switch: true }, then: [{ merge: { switch: false } }] }
                  - { name: seen, when: { type: task, seen: { $exists: false } }, then: [{ merge: { seen: true } }] }
                """)
            try await bed.load([("loop", #"{"_id":"loop","switch":true}"#), task("t1", "x")])
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 1)
            #expect(counters.written == 1)
            let deadLetter = try #require(try bed.deadLetters(rules).first)
            #expect(deadLetter.id == "loop")
            #expect(deadLetter.reason.contains("rule loop"))
            #expect(deadLetter.revision != nil && deadLetter.sequence != nil)
            #expect(try await bed.runOnce(rules).deadLetters == 0)
        }
    }

    @Test func refusedDocumentIsDeadLetteredAndOthersAreWritten() async throws {
        try await BotTestBed.with { bed in
            // A document of 22 MB, which the gateway refuses with 413.
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: too-much
                    when: { task: big, more: { $exists: false } }
                    then: [{ merge: { more: { jq: .text + .text } } }]
                  - name: small
                    when: { task: small, done: { $exists: false } }
                    then: [{ merge: { done: true } }]
                """)
            let text = String(repeating: "x", count: 7_400_000)
            try await bed.load([
                ("big", #"{"_id":"big","task":"big","text":"\#(text)"}"#), task("s1", "small"), task("s2", "small"),
            ])
            let counters = try await bed.runOnce(rules)
            #expect(counters.written == 2)
            #expect(counters.rejected == 1)
            #expect(counters.deadLetters == 1)
        }
    }

    @Test func checkpointIsTheEndOfTheFeed() async throws {
        try await BotTestBed.with { bed in
            try await bed.load((0..<50).map { task("t\($0)", $0 % 5 == 0 ? "apple" : "tea") })
            let info = try await bed.phone.databaseInfo()
            try await bed.runOnce()
            let ruleSet = try RuleSet.load(paths: [BotTestBed.shippedRules])
            let checkpoint = try #require(try bed.ledger(ruleSet).checkpoint())
            #expect(checkpoint.sequence.syncGatewayNumber == info.updateSequence?.syncGatewayNumber)
        }
    }

    @Test func sinceNowSkipsEarlierChanges() async throws {
        try await BotTestBed.with { bed in
            try await bed.load([task("t1", "apple")])
            let counters = try await bed.runOnce { $0.feed.since = .now }
            #expect(counters.written == 0)
        }
    }

    @Test func thousandsOfChangesAreProcessed() async throws {
        try await BotTestBed.with { bed in
            try await bed.load((0..<5000).map { task("t\($0)", $0 % 10 == 0 ? "apple" : "tea \($0)") })
            let counters = try await bed.runOnce { $0.delivery.capacity.memory = MemoryPool(bytes: 64 << 10) }
            #expect(counters.written == 500)
            #expect(counters.changes >= 5000)
            #expect(try await bed.runOnce().written == 0)
        }
    }

    /// The ids are equal as Swift strings, but every gateway has two documents.
    @Test func idsThatOnlyLookEqualAreTwoDocuments() async throws {
        try await BotTestBed.with { bed in
            try await bed.load([task("caf\u{E9}", "apple"), task("cafe\u{301}", "apple")])
            #expect(try await bed.runOnce().written == 2)
            for id in ["caf\u{E9}", "cafe\u{301}"] {
                let picture = try await bed.phone.attachment("image", of: DocumentID(id))
                #expect(picture == BotTestBed.asset("apple.png"))
            }
        }
    }

    @Test func documentLargerThanTheBudgetIsProcessed() async throws {
        try await BotTestBed.with { bed in
            let text = String(repeating: "y", count: 7 << 20)
            try await bed.load([
                ("large", #"{"_id":"large","type":"task","task":"apple","text":"\#(text)"}"#), task("t1", "coffee"),
            ])
            let counters = try await bed.runOnce { $0.delivery.capacity.memory = MemoryPool(bytes: 1 << 20) }
            #expect(counters.written == 2)
            #expect(try await bed.stored("large")?.root["text"]?.rawContent.count == 7 << 20)
        }
    }
}

extension BotTestBed {
    /// Increments the member `count` of a document step by step, as an app would: it reads, changes and writes, and
    /// repeats that after a conflict.
    func incrementCount(_ id: DocumentID, to goal: Int) async throws {
        var count = 0
        while count < goal {
            guard let document = try await stored(id) else { return }
            let next = try document.setting(JSONPointer("/count"), to: Array("\(count + 1)".utf8))
            switch try await phone.bulkDocs([BulkDocument(id: id, segments: [next.bytes])])[0] {
            case .written: count += 1
            case .conflict: continue
            case let outcome:
                Issue.record("\(outcome)")
                return
            }
        }
    }
}
