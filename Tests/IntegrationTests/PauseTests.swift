import BotState
import Bots
import Delivery
import Foundation
import GatewayClient
import LosslessJSON
import Rules
import TestKit
import Testing

/// Paused rules lose nothing.
@Suite(.limitedParallelism) struct PauseTests {
    private static let text = """
        version: 1
        rules:
          - name: stamp
            when: { type: task, stamped: { $exists: false } }
            then: [merge: { stamped: true }]
          - name: copy
            when: { type: task }
            then: [put: { id: { jq: '"copy." + ._id' }, document: { type: copy } }]
          - name: gone
            when: {}
            on: [delete]
            then: [put: { id: { jq: '"gone." + ._id' }, document: { type: gone } }]
          - name: moved
            when: { type: bike }
            changed: [station]
            then: [put: { id: { jq: '"move." + ._id + "." + .station' }, document: { was: { jq: $before.station } } }]
          - name: remind
            when: { type: task }
            at: .dueAt
            then: [put: { id: { jq: '"due." + ._id' }, document: { type: due } }]

        """

    private struct Bed {
        let bed: BotTestBed
        let rules: RuleSet
        let clock = SetClock()

        func run(once: Bool = true) async throws {
            let passes = try bed.passes([PauseTests.text])
            try await bed.runOnce(rules) { settings in
                clock.set(&settings)
                settings.passes = passes
            }
        }

        func order(_ body: (Ledger) async throws -> [PauseChange]) async throws -> [PauseChange] {
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            return try await body(ledger)
        }

        func pause(_ names: String...) async throws {
            #expect(try await order { try await $0.pause(names) } == names.map { _ in .paused })
        }

        func resume(_ names: String..., skips: Bool = false) async throws {
            let change: PauseChange = skips ? .skipped : .resumed
            #expect(try await order { try await $0.resume(names, skips: skips) } == names.map { _ in change })
        }

        func exists(_ ids: DocumentID...) async throws -> [Bool] {
            var found: [Bool] = []
            for id in ids { found.append(try await bed.stored(id) != nil) }
            return found
        }

        func pausedRules() throws -> [String] {
            let ledger = try bed.ledger(rules)
            defer { ledger.close() }
            return try ledger.pausedRules().map(\.name)
        }

        /// Writes a document, whatever its revision is. Nil: deletes it.
        func write(_ id: DocumentID, _ members: String?) async throws {
            let revision = try await bed.stored(id)?.root["_rev"]?.string
            let rev = revision.map { #""_rev":"\#($0)","# } ?? ""
            let body = #"{"_id":"\#(id)",\#(rev)\#(members ?? #""_deleted":true"#)}"#
            let outcomes = try await bed.phone.bulkDocs([BulkDocument(id: id, segments: [Array(body.utf8)])])
            guard case .written? = outcomes.first else {
                Issue.record("not written: \(outcomes)")
                return
            }
        }
    }

    private func with(_ body: (Bed) async throws -> Void) async throws {
        try await BotTestBed.with { bed in try await body(Bed(bed: bed, rules: try bed.rules(Self.text))) }
    }

    @Test func resumedRuleGetsTheChangesThatItMissed() async throws {
        try await with { bed in
            try await bed.write("before", #""type":"task""#)
            try await bed.run()
            #expect(try await bed.exists("copy.before") == [true])
            // To see whether the rule decides it again.
            try await bed.write("copy.before", nil)
            try await bed.pause("copy", "gone")
            try await bed.write("during", #""type":"task""#)
            try await bed.write("deleted", #""type":"other""#)
            try await bed.run()
            try await bed.write("deleted", nil)
            try await bed.run()
            // Other rules fire. Their writes do not hide the documents from the paused rule.
            #expect(try await bed.bed.stored("during")?.root["stamped"]?.bool == true)
            #expect(try await bed.exists("copy.during", "gone.deleted") == [false, false])
            #expect(try bed.pausedRules() == ["copy", "gone"])

            try await bed.resume("copy", "gone")
            try await bed.write("after", #""type":"task""#)
            try await bed.run()
            #expect(try await bed.exists("copy.during", "gone.deleted", "copy.after") == [true, true, true])
            #expect(try await bed.exists("copy.before") == [false])
            #expect(try bed.pausedRules().isEmpty)
            try await bed.write("copy.during", nil)
            try await bed.run()
            #expect(try await bed.exists("copy.during") == [false])
        }
    }

    @Test func skippedChangesAreNotGivenToTheRule() async throws {
        try await with { bed in
            try await bed.run()
            try await bed.pause("copy")
            try await bed.write("during", #""type":"task""#)
            try await bed.run()
            try await bed.resume("copy", skips: true)
            try await bed.write("after", #""type":"task""#)
            try await bed.run()
            #expect(try await bed.exists("copy.during", "copy.after") == [false, true])
        }
    }

    /// A rule that compares documents sees what has changed since the pause.
    @Test func resumedRuleComparesWithTheTimeBeforeThePause() async throws {
        try await with { bed in
            try await bed.write("b", #""type":"bike","station":"x""#)
            try await bed.run()
            try await bed.pause("moved")
            try await bed.write("b", #""type":"bike","station":"y""#)
            try await bed.run()
            try await bed.write("b", #""type":"bike","station":"z""#)
            try await bed.run()
            #expect(try await bed.exists("move.b.y", "move.b.z") == [false, false])
            try await bed.resume("moved")
            try await bed.run()
            #expect(try await bed.exists("move.b.y") == [false])
            #expect(try await bed.bed.stored("move.b.z")?.root["was"]?.string == "x")
            try await bed.write("b", #""type":"bike","station":"y""#)
            try await bed.run()
            #expect(try await bed.bed.stored("move.b.y")?.root["was"]?.string == "z")
        }
    }

    @Test func timersOfPausedRulesWait() async throws {
        try await with { bed in
            let due = bed.clock.now + 100
            for id in ["first", "edited", "late"] as [DocumentID] {
                try await bed.write(id, #""type":"task","dueAt":\#(due)"#)
            }
            try await bed.run()
            try await bed.pause("remind")
            // Another rule decides this document meanwhile, and it is due at another time.
            try await bed.write("edited", #""type":"task","dueAt":\#(due + 1)"#)
            try await bed.write("late", #""type":"task","dueAt":\#(due + 10_000)"#)
            try await bed.write("new", #""type":"task","dueAt":\#(due)"#)
            try await bed.run()
            bed.clock.move(by: 1000)
            try await bed.run()
            #expect(try await bed.exists("due.first", "due.edited", "due.new") == [false, false, false])
            try await bed.resume("remind")
            try await bed.run()
            try await bed.run()
            #expect(try await bed.exists("due.first", "due.edited", "due.new") == [true, true, true])
            #expect(try await bed.exists("due.late") == [false])
            bed.clock.move(by: 20_000)
            try await bed.run()
            #expect(try await bed.exists("due.late") == [true])
        }
    }

    /// Another rule fails on the document: its dead letter does not concern the timer of a paused rule.
    @Test func timersOfPausedRulesSurviveDeadLetters() async throws {
        let text = """
            version: 1
            rules:
              - name: remind
                when: { type: task }
                at: .dueAt
                then: [put: { id: { jq: '"due." + ._id' }, document: { type: due } }]
              - name: broken
                when: { type: task, broken: true }
                then: [patch: [{ op: remove, path: /none }]]
            """
        try await BotTestBed.with { bed in
            let bed = Bed(bed: bed, rules: try bed.rules(text))
            let due = bed.clock.now + 100
            try await bed.write("t", #""type":"task","dueAt":\#(due)"#)
            try await bed.run()
            try await bed.pause("remind")
            bed.clock.move(by: 1000)
            try await bed.write("t", #""type":"task","dueAt":\#(due),"broken":true"#)
            try await bed.run()
            #expect(try bed.bed.deadLetters(bed.rules).map(\.rule) == ["broken"])
            let ledger = try bed.bed.ledger(bed.rules)
            defer { ledger.close() }
            #expect(try ledger.waitingTimers(limit: 5).first.map(\.rule) == ["remind"])
        }
    }

    /// The bot was not running when the rule was paused, and its checkpoint was moved before it started.
    @Test func orderToAStoppedBotTakesEffectAtItsStart() async throws {
        try await with { bed in
            // No rule writes it, so a run that begins again decides it again.
            try await bed.write("old", #""type":"task","stamped":true"#)
            try await bed.run()
            try await bed.write("copy.old", nil)
            try await bed.pause("copy")
            let ledger = try bed.bed.ledger(bed.rules)
            try await ledger.resetCheckpoint(reason: "test")
            ledger.close()
            try await bed.run()
            #expect(try await bed.exists("copy.old") == [false])
            try await bed.resume("copy")
            try await bed.run()
            #expect(try await bed.exists("copy.old") == [true])
        }
    }

    /// The decision without the paused rule does not make its dead letters obsolete.
    @Test func deadLettersOfPausedRulesAreKept() async throws {
        let text = """
            version: 1
            rules:
              - name: broken
                when: { type: task }
                then: [patch: [{ op: remove, path: /none }]]
              - name: other
                when: { type: task }
                then: [merge: { other: true }]
            """
        try await BotTestBed.with { bed in
            let rules = try bed.rules(text)
            try await bed.load([("t", #"{"_id":"t","type":"task"}"#)])
            try await bed.runOnce(rules)
            #expect(try bed.deadLetters(rules).map(\.rule) == ["broken"])
            let ledger = try bed.ledger(rules)
            _ = try await ledger.pause(["broken"])
            ledger.close()
            let revision = try #require(try await bed.stored("t")?.root["_rev"]?.string)
            let body = Array(#"{"_id":"t","_rev":"\#(revision)","type":"task","n":1}"#.utf8)
            _ = try await bed.phone.bulkDocs([BulkDocument(id: "t", segments: [body])])
            try await bed.runOnce(rules)
            #expect(try await bed.stored("t")?.root["other"]?.bool == true)
            #expect(try bed.deadLetters(rules).map(\.rule) == ["broken"])
        }
    }

    /// A dead letter that names no rule may concern the paused one.
    @Test(arguments: ["copy", nil]) func retryKeepsDeadLettersOfPausedRules(rule: String?) async throws {
        let text = """
            version: 1
            rules:
              - name: copy
                when: { type: task }
                then: [merge: { copied: true }]
            """
        try await BotTestBed.with { bed in
            let rules = try bed.rules(text)
            try await bed.runOnce(rules)
            try await bed.load([("t", #"{"_id":"t","type":"task"}"#)])
            let refused = DeadLetter(
                sequence: SequenceID("1"), id: "t", revision: nil, rule: rule, reason: "refused", attempts: 1)
            var ledger = try bed.ledger(rules)
            _ = try await ledger.pause(["copy"])
            let numbers = try await ledger.keep([refused])
            ledger.close()
            func retry() async throws {
                try await DeadLetterRetry(
                    gateway: Gateway(bed.url, settings: bed.settings), ruleSet: rules,
                    state: try bed.place(rules, "state"), name: "bot", choose: { _ in .numbers(numbers) },
                    outcome: RetryOutcome(), settings: Delivery.Settings(), report: RunReport(),
                    logger: BotTestBed.logger
                ).run()
            }
            try await retry()
            #expect(try bed.deadLetters(rules).map(\.reason) == ["refused"])
            ledger = try bed.ledger(rules)
            _ = try await ledger.resume(["copy"], skips: true)
            ledger.close()
            try await retry()
            #expect(try bed.deadLetters(rules).isEmpty)
            #expect(try await bed.stored("t")?.root["copied"]?.bool == true)
        }
    }
}
