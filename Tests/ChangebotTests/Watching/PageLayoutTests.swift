import DocumentFlow
import Foundation
import GatewayClient
import LosslessJSON
import Monitoring
import TestKit
import Testing

/// The page with data that no test gateway would give a bot: ids of 10 kB, as CouchDB allows them, and hundreds of
/// rules.
@Suite(.serialized, .enabled(if: Browser.driver.isWanted), .sharedBrowser, .limitedParallelism(minutes: 10))
struct PageLayoutTests {
    private func withPage(
        deadLetters count: Int, _ body: (_ page: String) async throws -> Void
    ) async throws {
        let process = MonitoredProcess(version: "1.2.3")
        let bot = MonitoredBot(
            BotDescription(
                name: "hostile", gateway: "http://127.0.0.1:4984/" + String(repeating: "todo", count: 50),
                stateOptions: "--state '<b>'",
                rules: RuleSetDescription(
                    hash: "abc", names: BrowserTests.hostile + (1...200).map { "rule-\($0)" },
                    paths: [BrowserTests.hostile[0]])),
            source: .init(facts: { Self.facts }, deadLetters: { Self.deadLetters(count) }, fleet: { _ in Self.fleet }),
            registry: process.registry,
            diff: { _, _ in BrowserTests.hostile.map { "+ " + $0 } })
        for (number, text) in BrowserTests.hostile.enumerated() {
            var written = WrittenDocument(
                id: DocumentID(Self.long(text)), revision: RevisionID("\(number)-" + text), rules: [text],
                isDeletion: false)
            written.after = try JSONText("{}")
            bot.note(.wrote([written]))
        }
        process.show(bot)
        let html = try Data(contentsOf: URL(fileURLWithPath: Program.root + "/assets/status-page.html"))
        let server = try await MonitoringServer(
            .init(host: "127.0.0.1", port: 0, page: Array(html)), showing: process)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try? await server.run() }
            defer { tasks.cancelAll() }
            try await body("http://127.0.0.1:\(server.port)/")
        }
        await server.stop()
    }

    private static var fleet: FleetView {
        var fleet = FleetView(name: BrowserTests.hostile[0], engine: "postgres://db/bots", member: "3f2a9c1b")
        var snapshot = FleetView.EngineReport()
        snapshot.members = BrowserTests.hostile.enumerated().map { number, text in
            FleetView.Member(
                id: "3f2a9c1\(number)", process: long(text), state: "works", partitions: 64, readsFeed: number == 0,
                ruleSetHash: String(repeating: "\(number)", count: 64))
        }
        snapshot.partitions = 1024
        fleet.engineReport = snapshot
        return fleet
    }

    private static var facts: RunFacts {
        var facts = RunFacts()
        facts.phase = .following
        facts.counters.changes = 123_456_789_012
        facts.counters.traffic.bytesIn = 1 << 50
        return facts
    }

    private static func long(_ text: String) -> String {
        String(String(repeating: text, count: 10_000 / text.count + 1).prefix(10_000))
    }

    private static func deadLetters(_ count: Int) -> MonitoredBot.DeadLetters {
        var deadLetters = MonitoredBot.DeadLetters()
        guard count > 0 else { return deadLetters }
        deadLetters.byRule = ["rule-1": count]
        deadLetters.newest = (0..<min(count, MonitoredBot.DeadLetters.limit)).map { number in
            let text = BrowserTests.hostile[number % BrowserTests.hostile.count]
            return .init(
                number: number + 1, documentID: long(text), revision: "1-a", rule: text, reason: long(text),
                time: "2026-11-20T10:00:00Z")
        }
        return deadLetters
    }

    @Test(arguments: [0, 3, 3000]) func pageOfHostileTextsIsReadable(_ deadLetters: Int) async throws {
        try await withPage(deadLetters: deadLetters) { page in
            try await Browser.with { browser in
                try await browser.open(page)
                try await browser.wait(until: "document.querySelectorAll('article').length === 1")
                try await browser.wait(until: "document.querySelector('h2 .state').textContent === 'up to date'")
                try await browser.expectGoodLayout("long-\(deadLetters)")
                #expect(try await browser.value("window.isRun === undefined").bool == true)
                #expect(try await browser.complaints() == [])
            }
        }
    }
}
