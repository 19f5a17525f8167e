import DocumentFlow
import EmbeddedGateway
import GatewayClient
import LosslessJSON
import PostgreSQL
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Bots

/// One member of a fleet is active, the others are on standby.
@Suite(.limitedParallelism) struct StandbyTests {
    @Test func standbyContinuesWhereTheOtherStopped() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.bed.load((1...20).map { task("a\($0)", "apple") })
            try await fleet.running(rules, member: 1) { first in
                try await fleet.bed.wait(until: (1...20).map { DocumentID("a\($0)") }, fleet.isDone)
                try await fleet.wait(until: .following, first)
            }
            try await fleet.running(rules, member: 2) { second in
                try await fleet.bed.load((1...20).map { task("b\($0)", "apple") })
                try await fleet.bed.wait(until: (1...20).map { DocumentID("b\($0)") }, fleet.isDone)
                try await fleet.wait(until: .following, second)
                while await second.counters().written < 20 { try await Task.sleep(for: .milliseconds(5)) }
                // The first member's own writes may be read again, but not what it had read before them.
                #expect(await second.counters().written == 20)
                #expect(await second.counters().changes <= 60)
            }
        }
    }

    @Test func oneMemberIsActiveAndTheOtherOnStandby() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.running(rules, member: 1) { first in
                try await fleet.wait(until: .following, first)
                try await fleet.running(rules, member: 2) { second in
                    try await fleet.wait(until: .onStandby, second)
                    try await fleet.bed.load([task("a", "apple")])
                    try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
                    #expect(await second.counters().changes == 0)
                    #expect(await second.facts().phase == .onStandby)
                    let holders = try await fleet.sql("SELECT count(*) FROM member")
                    #expect(holders.rows == [[.int(2)]])
                }
            }
        }
    }

    @Test func oneShotRunEndsIfAnotherMemberIsActive() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.running(rules, member: 1) { first in
                try await fleet.wait(until: .following, first)
                let (bot, _) = try fleet.bot(rules, member: 2, once: true)
                let error = await #expect(throws: StateError.self) { try await bot.run() }
                guard case .locked = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
        }
    }

    @Test func memberThatLosesTheLeaseGoesOnStandbyAndWritesNothing() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.running(rules, member: 1) { report in
                try await fleet.bed.load([task("a", "apple")])
                try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
                try await fleet.takeLeaseAway()
                try await fleet.wait(until: .onStandby, report)
                try await fleet.bed.load([task("b", "apple")])
                let checkpoint = try await fleet.sql("SELECT max(number) FROM checkpoint")
                try await Task.sleep(for: .seconds(1))
                #expect(try await fleet.bed.stored(DocumentID("b"))?.root["done"] == nil)
                #expect(try await fleet.sql("SELECT max(number) FROM checkpoint") == checkpoint)
                // From here on, the other one is silent.
                try await fleet.takeLeaseAway(for: 0)
                try await fleet.bed.wait(until: DocumentID("b"), fleet.isDone)
            }
        }
    }

    // MARK: - An engine in trouble

    @Test func killedEngineServerLosesNothing() async throws {
        try await EngineTestBed.with(server: try TestPostgres()) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.running(rules, member: 1) { report in
                try await fleet.bed.load((1...50).map { task("a\($0)", "apple") })
                try await fleet.bed.wait(until: (1...50).map { DocumentID("a\($0)") }, fleet.isDone)
                fleet.server.stop()
                try await fleet.bed.load((1...50).map { task("b\($0)", "apple") })
                try fleet.server.start()
                try await fleet.bed.wait(until: (1...50).map { DocumentID("b\($0)") }, fleet.isDone)
            }
            let once = try await fleet.sql("SELECT count(*) FROM dead_letter")
            #expect(once.rows == [[.int(0)]])
        }
    }

    @Test func frozenEngineServerStopsTheRunUntilItResumes() async throws {
        try await EngineTestBed.with(server: try TestPostgres(), lease: .seconds(2)) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.running(rules, member: 1) { report in
                try await fleet.wait(until: .following, report)
                fleet.server.freeze()
                try await Task.sleep(for: fleet.lease)
                try await fleet.bed.load([task("a", "apple")])
                try await Task.sleep(for: .milliseconds(500))
                #expect(try await fleet.bed.stored(DocumentID("a"))?.root["done"] == nil)
                fleet.server.thaw()
                try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
            }
        }
    }

    @Test func engineThatMayLoseWritesIsRefused() async throws {
        try await EngineTestBed.with(server: try TestPostgres(settings: ["fsync=off"])) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (bot, _) = try fleet.bot(rules, member: 1, once: true)
            let error = await #expect(throws: StateError.self) { try await bot.run() }
            #expect(error?.description.contains("--allow-unsafe-engine") == true)
        }
    }

    // MARK: - Not this fleet

    @Test func stateOfAnotherDatabaseIsRefused() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.bot(rules, member: 1, once: true).bot.run()
            let configuration = EmbeddedGateway.Configuration(storage: .memory, logger: BotTestBed.logger)
            try await BotTestBed.serve(configuration, in: fleet.bed.directory) { other in
                let place = StatePlace(
                    StateCatalogue(directory: other.directory, name: "bot", engine: try fleet.engine()),
                    address: other.url.description, ruleSetHash: rules.hash, purpose: .run)
                var settings = BotSettings()
                settings.isOneShot = true
                let bot = Bot(
                    gateway: Gateway(other.url), ruleSet: rules, state: place, settings: settings, report: RunReport(),
                    logger: BotTestBed.logger)
                let error = await #expect(throws: StateError.self) { try await bot.run() }
                guard case .foreign = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
            }
        }
    }

    @Test(arguments: [(Schema.version + 1, "newer changebot"), (0, "no version")])
    func tablesOfAnotherVersionAreRefused(version: Int, advice: String) async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.bot(rules, member: 1, once: true).bot.run()
            try await fleet.sql("UPDATE identity SET value = '\(version)' WHERE name = 'version'")
            let error = await #expect(throws: StateError.self) {
                try await fleet.bot(rules, member: 1, once: true).bot.run()
            }
            #expect(error?.description.contains(advice) == true, "\(String(describing: error))")
        }
    }
}
