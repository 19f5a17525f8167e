import BotState
import Bots
import Foundation
import GatewayClient
import Locking
import LosslessJSON
import Rules
import TestKit
import Testing

/// Orders to apply a rule to all documents.
@Suite(.limitedParallelism(minutes: 5)) struct BackfillTests {
    private static let text = """
        version: 1
        rules:
          - name: stamp
            when: { type: task }
            then: [put: { id: { jq: '"stamp." + ._id' }, document: { type: stamp } }]
          - name: other
            when: { type: task }
            then: [put: { id: { jq: '"other." + ._id' }, document: { type: other } }]
          - name: later
            when: { type: task }
            at: .dueAt
            then: [put: { id: { jq: '"due." + ._id' }, document: { type: due } }]

        """

    private func ids(_ numbers: some Sequence<Int>, _ prefix: String = "") -> [DocumentID] {
        numbers.map { DocumentID(prefix + "t" + String(1000 + $0)) }
    }

    private func load(_ bed: BotTestBed, _ count: Int, due: Int = 4_000_000_000) async throws {
        try await bed.load(
            ids(0..<count).map { id in
                (id, #"{"_id":"\#(id)","type":"task","n":"\#(id.text.suffix(1))","dueAt":\#(due)}"#)
            })
    }

    private func settings(_ bed: BotTestBed, _ clock: SetClock) throws -> (inout BotSettings) -> Void {
        let passes = try bed.passes([Self.text])
        return { settings in
            clock.set(&settings)
            settings.passes = passes
            settings.feed.since = .now
        }
    }

    private func ordered<Result>(_ bed: BotTestBed, _ rules: RuleSet, _ body: (Ledger) async throws -> Result)
        async throws -> Result
    {
        let ledger = try bed.ledger(rules)
        defer { ledger.close() }
        return try await body(ledger)
    }

    private func exist(_ bed: BotTestBed, _ ids: [DocumentID]) async throws -> Int {
        var count = 0
        for lookup in try await bed.phone.allDocs(keys: ids) { if case .found = lookup { count += 1 } }
        return count
    }

    @Test func oneRuleIsAppliedToTheSelectedDocuments() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.text)
            let clock = SetClock()
            let configure = try settings(bed, clock)
            try await load(bed, 30, due: clock.now + 100)
            // The bot begins at the newest sequence, so no rule has seen these documents.
            try await bed.runOnce(rules, configure: configure)
            #expect(try await exist(bed, ids(0..<30, "stamp.")) == 0)
            _ = try await ordered(bed, rules) { ledger in
                try await ledger.orderBackfill(of: "stamp", selector: #"{"n":{"$in":["3","4"]}}"#, rate: 1000)
            }
            try await bed.runOnce(rules, configure: configure)
            #expect(try await exist(bed, ids(0..<30, "stamp.")) == 6)
            #expect(try await exist(bed, ids([3, 13, 24], "stamp.")) == 3)
            #expect(try await exist(bed, ids(0..<30, "other.")) == 0)
            let done = try await ordered(bed, rules) { try $0.backfills() }
            #expect(done.map(\.isOpen) == [false] && done.first?.problem == nil)
            #expect(done.first?.counts.matched == 6 && done.first?.counts.written == 6)
            #expect(done.first?.counts.read ?? 0 >= 30)
            // Not again.
            try await bed.runOnce(rules, configure: configure)
            #expect(try await ordered(bed, rules) { try $0.backfills() } == done)

            // A rule with a time gets its timers.
            _ = try await ordered(bed, rules) { try await $0.orderBackfill(of: "later", selector: nil, rate: 1000) }
            try await bed.runOnce(rules, configure: configure)
            #expect(try await ordered(bed, rules) { try $0.waitingTimers(limit: 1).count } == 30)
            clock.move(by: 200)
            try await bed.runOnce(rules, configure: configure)
            #expect(try await exist(bed, ids(0..<30, "due.")) == 30)
        }
    }

    @Test func backfillContinuesWhereItWasStopped() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.text)
            let configure = try settings(bed, SetClock())
            try await load(bed, 30)
            try await bed.runOnce(rules, configure: configure)
            try await ordered(bed, rules) { ledger in
                _ = try await ledger.orderBackfill(of: "stamp", selector: nil, rate: 1000)
                let backfill = try #require(try ledger.backfills().first)
                // As a killed process left it.
                try await ledger.noteBegun(backfill, expected: 30)
                try await ledger.note(
                    backfill, upTo: ids([19]).first, Backfill.Counts(read: 20, matched: 20, written: 20))
            }
            try await bed.runOnce(rules, configure: configure)
            #expect(try await exist(bed, ids(0..<20, "stamp.")) == 0)
            #expect(try await exist(bed, ids(20..<30, "stamp.")) == 10)
            let done = try #require(try await ordered(bed, rules) { try $0.backfills() }.first)
            #expect(!done.isOpen && done.counts.matched == 30 && done.counts.written == 30)
        }
    }

    @Test func backfillOfAPausedRuleWaits() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.text)
            let configure = try settings(bed, SetClock())
            try await load(bed, 5)
            try await bed.runOnce(rules, configure: configure)
            try await ordered(bed, rules) { ledger in
                _ = try await ledger.pause(["stamp"])
                _ = try await ledger.orderBackfill(of: "stamp", selector: nil, rate: 1000)
            }
            try await bed.runOnce(rules, configure: configure)
            #expect(try await exist(bed, ids(0..<5, "stamp.")) == 0)
            _ = try await ordered(bed, rules) { try await $0.resume(["stamp"], skips: false) }
            try await bed.runOnce(rules, configure: configure)
            #expect(try await exist(bed, ids(0..<5, "stamp.")) == 5)
        }
    }

    @Test func removedRuleEndsTheBackfill() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.text)
            let configure = try settings(bed, SetClock())
            try await bed.runOnce(rules, configure: configure)
            _ = try await ordered(bed, rules) { try await $0.orderBackfill(of: "gone", selector: nil, rate: 1) }
            try await bed.runOnce(rules, configure: configure)
            let ended = try #require(try await ordered(bed, rules) { try $0.backfills() }.first)
            #expect(!ended.isOpen && ended.problem == "the bot has no such rule")
        }
    }

    /// The rate holds for documents on which the rule fires, after the first portion.
    @Test func runningBackfillIsPacedAndCanBeCancelled() async throws {
        try await BotTestBed.with { bed in
            let rules = try bed.rules(Self.text)
            let configure = try settings(bed, SetClock())
            try await load(bed, 1500)
            try await bed.runOnce(rules, configure: configure)
            // The next portion would come after a minute.
            _ = try await ordered(bed, rules) { try await $0.orderBackfill(of: "stamp", selector: nil, rate: 5) }
            let first = ids([0], "stamp.")
            try await bed.following(rules, configure: configure) {
                try await bed.wait(until: first) { $0["type"] != nil }
                let ledger = try bed.sharedLedger()
                defer { ledger.close() }
                #expect(try await ledger.cancelBackfill(of: "stamp") != nil)
                // New orders are noticed, so the first one is not waiting any longer.
                #expect(try await ledger.orderBackfill(of: "other", selector: #"{"n":"0"}"#, rate: 1000) == nil)
                try await bed.wait(until: ids([1490], "other.")) { $0["type"] != nil }
                while try ledger.backfills().contains(where: \.isOpen) {
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            #expect(try await exist(bed, ids(0..<1500, "stamp.")) < 1500)
            #expect(try await exist(bed, ids(0..<1500, "other.")) == 150)
        }
    }
}

extension BotTestBed {
    /// The state next to a running bot.
    func sharedLedger(state: String = "state") throws -> Ledger {
        let folder = directory + "/" + state
        return try StateCatalogue(directory: folder, name: "bot", engine: try TestEngine.instead(of: folder))
            .openExisting(address: nil, access: .shared)
    }
}
