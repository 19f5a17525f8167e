import BotState
import Bots
import Delivery
import DocumentFlow
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

@testable import changebot

/// Rules with `resolve`, in a database that keeps conflicts.
@Suite(.limitedParallelism) struct ResolveRuleTests {
    private static let rules = """
        version: 1
        rules:
          - name: mark
            when: { type: task, seen: { $exists: false } }
            then:
              - merge: { seen: true }
          - name: one-revision
            when: { type: task }
            then:
              - resolve: POLICY
        """

    private func rules(_ bed: BotTestBed, _ policy: String = "merge") throws -> RuleSet {
        try bed.rules(Self.rules.replacing("POLICY", with: policy))
    }

    private func retry(_ bed: BotTestBed, _ ruleSet: RuleSet) async throws {
        try await DeadLetterRetry(
            gateway: Gateway(bed.url, settings: bed.settings), ruleSet: ruleSet, state: bed.place(ruleSet, "state"),
            name: "bot", choose: { _ in .matching(DeadLetterFilter(), upTo: .max) }, outcome: RetryOutcome(),
            settings: Delivery.Settings(), report: RunReport(), logger: BotTestBed.logger
        ).run()
    }

    private func storeConflict(_ bed: BotTestBed, _ id: String = "t") async throws {
        try await bed.store(id, "a", #","type":"task","n":0,"m":0"#)
        try await bed.store(id, "b a", #","type":"task","n":0,"m":1"#)
        try await bed.store(id, "c a", #","type":"task","n":1,"m":0"#)
    }

    private static let merged = ["type": #""task""#, "n": "1", "m": "1", "seen": "true"]

    @Test func otherRulesSeeTheResolvedDocument() async throws {
        try await BotTestBed.keepingConflicts { bed in
            for number in 0..<30 { try await storeConflict(bed, "t\(number)") }
            try await bed.store("other", "a", #","type":"task""#)
            let counters = try await bed.runOnce(rules(bed))
            #expect(counters.deadLetters == 0 && counters.deleted == 30 && counters.written == 91)
            #expect(counters.rules.fired == ["one-revision": 30, "mark": 31])
            for number in 0..<30 {
                let left = try await bed.live(DocumentID("t\(number)"))
                #expect(left.count == 1)
                #expect(BotTestBed.members(left.first) == Self.merged)
            }
            // CouchDB still lists deleted leaves.
            let revision = try #require(try await bed.live("t0").first?.root["_rev"]?.string)
            try await bed.load([("t0", #"{"_id":"t0","_rev":"\#(revision)","type":"task","seen":true}"#)])
            let second = try await bed.runOnce(rules(bed))
            #expect(second.written == 0 && second.deadLetters == 0)
        }
    }

    @Test func leafThatLosesToTheBotsOwnRevisionIsMerged() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("t", "a", #","type":"task","n":0,"m":0"#)
            let rules = try rules(bed)
            try await bed.following(rules) {
                try await bed.wait(until: "t") { $0["seen"]?.bool == true }
                // It loses: the feed shows the document that the bot has written.
                try await bed.store("t", "0 a", #","type":"task","n":0,"m":1"#)
                try await bed.wait(until: "t") { $0["m"]?.integer == 1 && $0["seen"]?.bool == true }
            }
            #expect(try await bed.live("t").count == 1)
        }
    }

    /// The leaves of only a few documents are read at a time.
    @Test func documentsThatExceedTheBudgetAreResolved() async throws {
        try await BotTestBed.keepingConflicts { bed in
            for number in 0..<12 { try await storeConflict(bed, "t\(number)") }
            let counters = try await bed.runOnce(rules(bed)) { settings in
                settings.delivery.limits.bytes = 300
            }
            #expect(counters.deadLetters == 0 && counters.deleted == 12)
            for number in 0..<12 {
                #expect(BotTestBed.members(try await bed.live(DocumentID("t\(number)")).first) == Self.merged)
            }
        }
    }

    @Test func keptWinnerIsNotReadForEver() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await storeConflict(bed)
            let counters = try await bed.runOnce(rules(bed, "winner"))
            #expect(counters.deleted == 1 && counters.deadLetters == 0)
            #expect(BotTestBed.members(try await bed.live("t").first)["n"] == "1")
            let second = try await bed.runOnce(rules(bed, "winner"), state: "new")
            #expect(second.written == 0)
        }
    }

    @Test func leftConflictIsARetryableDeadLetter() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await storeConflict(bed)
            let counters = try await bed.runOnce(rules(bed, "set-aside"))
            #expect(counters.deadLetters == 1 && counters.written == 0)
            let letters = try bed.deadLetters(rules(bed, "set-aside"))
            #expect(letters.map(\.reason) == ["left in conflict: its policy is 'set-aside'"])
            #expect(letters.map(\.rule) == ["one-revision"])
            #expect(try await bed.live("t").count == 2)
            try await retry(bed, rules(bed))
            #expect(BotTestBed.members(try await bed.live("t").first)["m"] == "1")
            #expect(try await bed.live("t").count == 1)
            #expect(try bed.deadLetters(rules(bed)).isEmpty)
        }
    }

    @Test func skippableRuleLeavesTheDocumentToOthers() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await storeConflict(bed)
            let rules = try bed.rules(
                Self.rules.replacing("POLICY", with: "set-aside") + "\n    on_error: skip\n")
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 1 && counters.written == 1)
            #expect(counters.rules.fired["mark"] == 1)
            let letters = try bed.deadLetters(rules)
            #expect(letters.map(\.reason) == ["left in conflict: its policy is 'set-aside'"])
            #expect(letters.map(\.rule) == ["one-revision"])
            let left = try await bed.live("t")
            #expect(left.count == 2)
            #expect(left.filter { $0.root["seen"]?.bool == true }.count == 1)
            // The dead letter is also kept if no other rule has anything to do.
            try await bed.store("u", "b a", #","type":"task","seen":true"#)
            try await bed.store("u", "c a", #","type":"task","seen":true"#)
            let second = try await bed.runOnce(rules)
            #expect(second.written == 0)
            #expect(try bed.deadLetters(rules).map(\.id).contains("u"))
        }
    }

    /// A decision to resolve determines neither the document's contribution to totals nor its timer.
    @Test func totalsAndTimersUseTheResolvedDocument() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("t", "a", #","type":"task","n":0,"m":0,"due":4102444800"#)
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: count
                    when: { type: task }
                    then:
                      - aggregate: { into: total, count: { all: true }, sum: { n: { jq: .n } } }
                  - name: late
                    when: { type: task }
                    at: .due
                    then:
                      - merge: { late: true }
                  - name: one-revision
                    when: { type: task }
                    then:
                      - resolve: merge
                """)
            try await bed.runOnce(rules)
            #expect(BotTestBed.members(try await bed.stored("total")) == ["all": "1", "n": "0"])
            try await bed.store("t", "b a", #","type":"task","n":0,"m":1,"due":4102444800"#)
            try await bed.store("t", "c a", #","type":"task","n":5,"m":0,"due":4102444800"#)
            let counters = try await bed.runOnce(rules)
            #expect(counters.deadLetters == 0)
            let total = BotTestBed.members(try await bed.stored("total"))
            #expect(total == ["all": "1", "n": "5"])
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            #expect(try ledger.waitingTimers(limit: 5).count == 1)
        }
    }

    @Test func dryRunShowsTheResolutionAndWritesNothing() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await storeConflict(bed)
            let counters = try await bed.runOnce(rules(bed)) { settings in
                settings.delivery.preview = Preview { report in
                    var effects = JSONWriter()
                    report.writeEffects(to: &effects)
                    #expect(
                        String(decoding: effects.bytes, as: UTF8.self)
                            == #"[{"rule":"one-revision","action":"resolve","policy":"merge"}]"#)
                }
            }
            #expect(counters.preview.written == 1 && counters.written == 0)
            #expect(try await bed.live("t").count == 2)
        }
    }

    @Test func deletionWinsOverAnEdit() async throws {
        try await BotTestBed.keepingConflicts { bed in
            try await bed.store("t", "a", #","type":"task","n":0"#)
            try await bed.store("t", "b a", #","_deleted":true"#)
            try await bed.store("t", "c a", #","type":"task","n":1"#)
            let counters = try await bed.runOnce(rules(bed, "deletes-win"))
            #expect(counters.deadLetters == 0)
            #expect(try await bed.live("t").isEmpty)
        }
    }
}
