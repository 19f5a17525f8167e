import Bots
import DocumentFlow
import GatewayClient
import LosslessJSON
import Rules
import ServiceLifecycle
import TestKit
import Testing

/// Two bots on one database, as on two machines: each has its own state.
@Suite(.limitedParallelism) struct TwoBotsTests {
    private static func paint(_ from: String, _ to: String) -> String {
        """
        version: 1
        rules:
          - name: \(from)-to-\(to)
            when: { color: \(from) }
            then:
              - merge: { color: \(to) }
        """
    }

    /// Follows the feed with both bots while `body` runs. Returns the counters of each.
    private func following(
        _ bed: BotTestBed, _ rules: [RuleSet], _ body: @Sendable @escaping ([RunReport]) async throws -> Void
    ) async throws -> [RunCounters] {
        var reports: [RunReport] = []
        var bots: [ServiceGroup] = []
        for (number, ruleSet) in rules.enumerated() {
            let (bot, report) = try bed.bot(ruleSet, state: "machine\(number)", once: false) {
                $0.name = "bot\(number)"
            }
            reports.append(report)
            bots.append(ServiceGroup(services: [bot], logger: BotTestBed.logger))
        }
        try await withThrowingTaskGroup { tasks in
            for bot in bots { tasks.addTask { try await bot.run() } }
            do { try await body(reports) } catch {
                tasks.cancelAll()
                throw error
            }
            for bot in bots { await bot.triggerGracefulShutdown() }
            try await tasks.waitForAll()
        }
        var counters: [RunCounters] = []
        for report in reports { counters.append(await report.counters()) }
        return counters
    }

    @Test func twoBotsWithTheSameRulesWriteOnce() async throws {
        try await BotTestBed.with(countsRevisions: true) { bed in
            let count = 600
            let rules = try bed.rules(BotTestBed.doneRules)
            let counters = try await following(bed, [rules, rules]) { _ in
                for start in stride(from: 0, to: count, by: 50) {
                    try await bed.load(
                        (start..<start + 50).map {
                            (DocumentID("t\($0)"), #"{"_id":"t\#($0)","type":"task","n":1.10}"#)
                        })
                }
                try await bed.wait(until: (0..<count).map { DocumentID("t\($0)") }) { $0["done"]?.bool == true }
            }
            // Revisions decided which bot was first; the other found nothing left to do.
            #expect(counters.reduce(0) { $0 + $1.written } == count)
            #expect(counters.allSatisfy { $0.deadLetters == 0 })
            let lookups = try await bed.phone.allDocs(keys: (0..<count).map { DocumentID("t\($0)") })
            for case .found(let revision, _) in lookups { #expect(revision.text.hasPrefix("2-")) }
        }
    }

    @Test func twoBotsThatUndoEachOtherStop() async throws {
        try await BotTestBed.with { bed in
            let rules = [try bed.rules(Self.paint("red", "blue")), try bed.rules(Self.paint("blue", "red"))]
            let counters = try await following(bed, rules) { reports in
                try await bed.load([("d", #"{"_id":"d","color":"red"}"#)])
                var settled = 0
                while settled == 0 {
                    settled = 0
                    for report in reports { settled += await report.counters().deadLetters }
                    try await Task.sleep(for: .milliseconds(10))
                }
                let sequence = try await bed.phone.databaseInfo().updateSequence
                // There are no more writes: a feed from here on stays empty.
                var answer = try await bed.phone.changes(
                    ChangesRequest(since: try #require(sequence), feed: .longpoll(timeout: .seconds(1))))
                #expect(try await answer.next() == nil)
            }
            #expect(counters.reduce(0) { $0 + $1.deadLetters } == 1)
            #expect(counters.allSatisfy { $0.written <= 20 })
        }
    }
}
