import BotState
import Bots
import Delivery
import Foundation
import GatewayClient
import LosslessJSON
import TestKit
import Testing

@testable import Rules

/// What a bot records about each document with `--trace-days`.
@Suite(.limitedParallelism) struct TraceRecordTests {
    private func entries(_ bed: BotTestBed, _ rules: RuleSet, _ id: DocumentID) throws -> [Ledger.RecordedTrace] {
        let ledger = try bed.ledger(rules)
        defer { ledger.close() }
        return try ledger.traces(of: id)
    }

    private func traced(_ settings: inout BotSettings) { settings.delivery.traceDays = 7 }

    @Test func decisionsWritesEventsAndDeadLettersAreTraced() async throws {
        let receiver = try TestReceiver { _, _ in .answer(204) }
        try await BotTestBed.with { bed in
            let lines = bed.directory + "/lines.ndjson"
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: stamp
                    when: { type: task, stamped: { $exists: false } }
                    then: [merge: { stamped: secret-value }]
                  - name: copy
                    when: { type: task }
                    then: [put: { id: { jq: '"copy." + ._id' }, document: { type: copy } }]
                  - name: tell
                    when: { type: task }
                    then: [webhook: { url: "\(receiver.url)?key=secret-value" }]
                  - name: log
                    when: { type: task }
                    then: [emit: { file: "\(lines)" }]
                  - name: later
                    when: { type: task }
                    at: .dueAt
                    then: [merge: { due: true }]
                  - name: broken
                    when: { type: broken }
                    then: [patch: [{ op: remove, path: /none }]]
                """)
            let due = "2099-01-01T00:00:00Z"
            try await bed.load([
                ("t", #"{"_id":"t","type":"task","dueAt":"\#(due)"}"#), ("b", #"{"_id":"b","type":"broken"}"#),
                ("x", #"{"_id":"x","type":"other"}"#),
            ])
            try await bed.runOnce(rules, configure: traced)

            let task = try entries(bed, rules, "t")
            #expect(task.map(\.kind) == ["wrote-other", "decision"])
            let copy = try #require(task.first?.details.root)
            #expect(copy["document"]?.string == "copy.t" && copy["rules"]?.elements.map(\.string) == ["copy"])
            let decision = try #require(task.last?.details.root)
            #expect(decision["result"]?.string == "written")
            #expect(decision["revision"]?.string?.hasPrefix("1-") == true)
            let current = try await bed.stored("t")?.root["_rev"]?.string
            #expect(current != nil && decision["new_revision"]?.string == current)
            #expect(
                Set(decision["rules"]?.elements.compactMap(\.string) ?? []) == ["stamp", "copy", "tell", "log"])
            let events = decision["events"].map { Array($0.elements) } ?? []
            #expect(events.map { $0["action"]?.string } == ["webhook", "emit"])
            #expect(events.map { $0["rule"]?.string } == ["tell", "log"])
            #expect(events.first?["to"]?.string.map(receiver.url.hasPrefix) == true)
            #expect(events.last?["to"]?.string == lines)
            // The ids by which receivers know the events.
            #expect(events.first?["event"]?.string == receiver.requests.first?.eventID)
            #expect(decision["timers"]?.elements.map { $0["rule"]?.string } == ["later"])

            let copied = try entries(bed, rules, "copy.t")
            #expect(copied.map(\.kind) == ["written-by-other"])
            #expect(copied.first?.details.root["because_of"]?.elements.map(\.string) == ["t"])
            let broken = try entries(bed, rules, "b")
            #expect(broken.map(\.kind) == ["dead-letter"])
            #expect(broken.first?.details.root["rule"]?.string == "broken")
            #expect(broken.first?.reason?.contains("/none") == true)
            #expect(try entries(bed, rules, "x").isEmpty)
            // No value of a document, and nothing of a URL that may be secret.
            let all = (task + copied + broken).map { String(decoding: $0.details.bytes, as: UTF8.self) }.joined()
            #expect(!all.contains("secret-value"))
        }
    }

    @Test func timersAndUnchangedDocumentsAreTraced() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - name: later
                    when: { type: task }
                    at: .dueAt
                    then: [merge: { due: true }]
                  - name: same
                    when: { type: same }
                    then: [merge: { type: same }]
                """)
            let clock = SetClock()
            let configure: (inout BotSettings) -> Void = { settings in
                clock.set(&settings)
                traced(&settings)
            }
            try await bed.load([
                ("t", #"{"_id":"t","type":"task","dueAt":\#(clock.now + 100)}"#), ("s", #"{"_id":"s","type":"same"}"#),
            ])
            try await bed.runOnce(rules, configure: configure)
            clock.move(by: 200)
            try await bed.runOnce(rules, configure: configure)
            let task = try entries(bed, rules, "t").map(\.details.root)
            #expect(task.map { $0["result"]?.string } == ["unchanged", "written"])
            #expect(task.map { $0["cause"]?.string } == [nil, "timer"])
            #expect(task.map { $0["timers"]?.elements.map { $0["fired"]?.bool } } == [[false], [true]])
            let same = try entries(bed, rules, "s").map(\.details.root)
            #expect(same.map { $0["result"]?.string } == ["unchanged"])
            #expect(same.first?["rules"]?.elements.map(\.string) == ["same"])
            #expect(same.first?["new_revision"] == nil)
        }
    }

    /// The next run without `--trace-days` deletes the trace.
    @Test func runWithoutTraceDeletesIt() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(
                """
                version: 1
                rules:
                  - { name: r, when: { type: task, x: { $exists: false } }, then: [merge: { x: 1 }] }
                """)
            try await bed.load([("t", #"{"_id":"t","type":"task"}"#)])
            try await bed.runOnce(rules, configure: traced)
            #expect(try entries(bed, rules, "t").map(\.kind) == ["decision"])
            try await bed.runOnce(rules) { $0.delivery.traceDays = 0 }
            #expect(try entries(bed, rules, "t").isEmpty)
        }
    }
}
