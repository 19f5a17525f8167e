import DocumentFlow
import HTTPServing
import Locking
import LosslessJSON
import TestKit
import Testing

@testable import Monitoring

/// Monitoring of a bot that belongs to a fleet.
@Suite struct FleetViewTests {
    private static let members = [
        FleetView.Member(
            id: "3f2a9c1b", process: "pid 1 on a", state: "works", partitions: 2, readsFeed: true, ruleSetHash: "abc"),
        FleetView.Member(
            id: "77aa0001", process: "pid 2 on b", state: "works", partitions: 6, readsFeed: false, ruleSetHash: "def"),
    ]

    private static var view: FleetView {
        var view = FleetView(name: "orders", engine: "postgres://db/bots", member: "3f2a9c1b")
        view.leads = true
        (view.leaseLosses, view.fencedCommits, view.unknownCommits) = (1, 2, 3)
        return view
    }

    private static var engineReport: FleetView.EngineReport {
        var engineReport = FleetView.EngineReport()
        engineReport.members = members
        engineReport.partitions = 8
        engineReport.ownBacklog = [0: 5, 7: 0]
        (engineReport.backlog, engineReport.oldestAge, engineReport.parked) = (12, 3.5, 4)
        (engineReport.dead, engineReport.takeovers, engineReport.fencedCommits) = (1, 6, 9)
        return engineReport
    }

    /// A bot whose engine answers with the content of `engineReport`.
    private func bot(
        _ process: MonitoredProcess, _ engineReport: Locked<FleetView.EngineReport?>, asked: Locked<Int> = Locked(0)
    ) -> MonitoredBot {
        MonitoredBot(
            BotDescription(
                name: "pictures", gateway: "http://127.0.0.1:4984/todo", stateOptions: nil,
                rules: RuleSetDescription(hash: "abc", names: [], paths: [])),
            source: .init(
                facts: { RunFacts() }, deadLetters: { nil },
                fleet: { queriesEngine in
                    var view = Self.view
                    guard queriesEngine else { return view }
                    asked.withLock { $0 += 1 }
                    view.engineReport = engineReport.withLock { $0 }
                    return view
                }), registry: process.registry)
    }

    private func metrics(_ process: MonitoredProcess) -> [String] {
        String(decoding: process.registry.text(), as: UTF8.self).split(separator: "\n").map(String.init)
            .filter { $0.hasPrefix("changebot_fleet") }
    }

    private static let own = [
        #"changebot_fleet_leader{bot="pictures"} 1"#, #"changebot_fleet_standby{bot="pictures"} 0"#,
        #"changebot_fleet_drained{bot="pictures"} 0"#, #"changebot_fleet_lease_losses_total{bot="pictures"} 1"#,
        #"changebot_fleet_fenced_commits_total{bot="pictures"} 2"#,
        #"changebot_fleet_unknown_commits_total{bot="pictures"} 3"#,
    ]

    @Test func metricsShowFleetAndThisMembersCounts() async {
        let process = MonitoredProcess(version: "1.2.3")
        await bot(process, Locked(Self.engineReport)).refresh(queriesEngine: true)
        #expect(
            Set(metrics(process))
                == Set(Self.own).union([
                    #"changebot_fleet_engine_up{bot="pictures"} 1"#, #"changebot_fleet_members{bot="pictures"} 2"#,
                    #"changebot_fleet_partitions_owned{bot="pictures"} 2"#,
                    #"changebot_fleet_backlog_changes{bot="pictures"} 12"#,
                    #"changebot_fleet_partition_backlog_changes{bot="pictures",partition="0"} 5"#,
                    #"changebot_fleet_partition_backlog_changes{bot="pictures",partition="7"} 0"#,
                    #"changebot_fleet_oldest_change_seconds{bot="pictures"} 3.5"#,
                    #"changebot_fleet_parked_changes{bot="pictures"} 4"#,
                    #"changebot_fleet_dead_changes{bot="pictures"} 1"#,
                    #"changebot_fleet_takeovers_total{bot="pictures"} 6"#,
                ]))
    }

    @Test func unreachableEngineMakesOnlyItsFactsUnknown() async {
        let process = MonitoredProcess(version: "1.2.3")
        let engineReport = Locked<FleetView.EngineReport?>(Self.engineReport)
        let bot = bot(process, engineReport)
        let now = ContinuousClock.now
        await bot.refresh(now: now, queriesEngine: true)
        engineReport.withLock { $0 = nil }
        await bot.refresh(now: now + .seconds(6), queriesEngine: true)
        let lines = metrics(process)
        #expect(Set(lines).isSuperset(of: Self.own))
        #expect(lines.contains(#"changebot_fleet_engine_up{bot="pictures"} 0"#))
        #expect(lines.contains(#"changebot_fleet_backlog_changes{bot="pictures"} NaN"#))
        #expect(lines.contains(#"changebot_fleet_partition_backlog_changes{bot="pictures",partition="0"} NaN"#))
    }

    @Test func releasedPartitionHasNoBacklog() async {
        let process = MonitoredProcess(version: "1.2.3")
        let engineReport = Locked<FleetView.EngineReport?>(Self.engineReport)
        let bot = bot(process, engineReport)
        let now = ContinuousClock.now
        await bot.refresh(now: now, queriesEngine: true)
        engineReport.withLock { $0?.ownBacklog = [7: 1] }
        await bot.refresh(now: now + .seconds(6), queriesEngine: true)
        #expect(
            metrics(process).contains(#"changebot_fleet_partition_backlog_changes{bot="pictures",partition="0"} 0"#))
    }

    @Test func engineIsQueriedOnlyForReadersEveryFewSeconds() async {
        let (process, asked) = (MonitoredProcess(version: "1.2.3"), Locked(0))
        let bot = bot(process, Locked(Self.engineReport), asked: asked)
        let now = ContinuousClock.now
        await bot.refresh(now: now)
        #expect(asked.withLock { $0 } == 0)
        for second in 0...12 { await bot.refresh(now: now + .seconds(second), queriesEngine: true) }
        #expect(asked.withLock { $0 } == 3)
    }

    @Test func slowEngineIsQueriedRarely() {
        let now = ContinuousClock.now
        var pace = FleetPace()
        #expect(pace.isDue(now: now))
        pace.noteAnswer(asked: now, answered: now + .seconds(2))
        #expect(!pace.isDue(now: now + .seconds(41)))
        #expect(pace.isDue(now: now + .seconds(42)))
    }

    @Test(.limitedParallelism) func unansweredQueryDoesNotBlockOthers() async {
        let inquiry = SingleFlightQuery<Int>()
        let (stuck, release) = AsyncStream<Void>.makeStream()
        let first = await inquiry.answer(within: .milliseconds(20)) {
            for await _ in stuck {}
            return 1
        }
        #expect(first == nil)
        #expect(await inquiry.answer(within: .seconds(50)) { 2 } == nil)
        release.finish()
        var later: Int?
        while later == nil {
            // Lets the first query end: a query in progress answers immediately.
            await Task.yield()
            later = await inquiry.answer(within: .seconds(50)) { 3 }
        }
        #expect(later == 3)
    }

    @Test func statusContainsFleet() async throws {
        let process = MonitoredProcess(version: "1.2.3")
        let bot = bot(process, Locked(Self.engineReport))
        process.show(bot)
        await bot.refresh(queriesEngine: true)
        let shown = try JSONText(process.status).root["bots"]?.elements.first { _ in true }
        let fleet = try #require(shown?["fleet"])
        #expect(fleet["name"]?.string == "orders")
        #expect(fleet["standing"]?["same_rules"]?.bool == false)
        #expect(fleet["standing"]?["members"]?.elements.compactMap { $0["id"]?.string } == ["3f2a9c1b", "77aa0001"])

        let alone = MonitoredProcess(version: "1.2.3")
        alone.show(
            MonitoredBot(
                BotDescription(
                    name: "pictures", gateway: "http://127.0.0.1:4984/todo", stateOptions: nil,
                    rules: RuleSetDescription(hash: "abc", names: [], paths: [])),
                source: .init(facts: { RunFacts() }, deadLetters: { nil }), registry: alone.registry))
        await alone.bots[0].refresh(queriesEngine: true)
        #expect(try JSONText(alone.status).root["bots"]?.elements.first { _ in true }?["fleet"] == nil)
        #expect(metrics(alone).isEmpty)
    }
}
