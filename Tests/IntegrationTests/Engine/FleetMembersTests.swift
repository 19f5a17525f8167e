import DocumentFlow
import Fleet
import FleetEngine
import GatewayClient
import LosslessJSON
import PostgreSQL
import Rules
import TestKit
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

/// How operators inspect and control the members of a fleet.
@Suite(.limitedParallelism) struct FleetMembersTests {
    private static func shared(
        _ fleet: EngineTestBed, _ rules: RuleSet, member: Int
    ) throws -> (bot: Bot, report: RunReport) {
        try fleet.bot(rules, member: member) { $0.fleet.sharing = Sharing(role: .auto, partitions: 8) }
    }

    /// Returns once the members satisfy the condition.
    private static func wait(
        _ fleet: EngineTestBed, until isReached: (FleetSnapshot) -> Bool
    ) async throws {
        let engine = try fleet.engine()
        while true {
            do throws(StateError) {
                if isReached(try engine.snapshot()) { return }
            } catch {
                // The fleet does not exist yet.
                guard case .missing = error else { throw error }
            }
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    private static func ids(_ prefix: String, _ count: Int) -> [DocumentID] {
        (1...count).map { DocumentID("\(prefix)\($0)") }
    }

    // MARK: - Draining

    @Test func drainedMemberGoesOnStandbyAndAnotherTakesOverAtOnce() async throws {
        try await EngineTestBed.with(lease: .seconds(3)) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (first, report) = try fleet.bot(rules, member: 1)
            let (second, other) = try fleet.bot(rules, member: 2)
            try await EngineTestBed.running([first]) {
                try await fleet.wait(until: .following, report)
                try await EngineTestBed.running([second]) {
                    try await fleet.wait(until: .onStandby, other)
                    // At first, the member may only have reported that it exists.
                    while try fleet.engine().snapshot().members.first(where: \.runs)?.role != "run" {
                        try await Task.sleep(for: .milliseconds(20))
                    }
                    let member = try #require(try fleet.engine().snapshot().members.first { $0.runs })
                    #expect(member.ruleSetHash == rules.hash)
                    try fleet.engine().drain(member)
                    try await fleet.wait(until: .following, other)
                    try await fleet.wait(until: .drained, report)
                    let drained = try #require(try fleet.engine().snapshot().members.first { $0.id == member.id })
                    #expect(drained.isDrained && !drained.runs)
                    try await fleet.bed.load([task("a", "apple")])
                    try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
                    try fleet.engine().drain(member, isOver: true)
                    try await fleet.wait(until: .onStandby, report)
                }
                // The other one has ended.
                try await fleet.wait(until: .following, report)
            }
        }
    }

    @Test func drainedMemberStaysListed() async throws {
        try await EngineTestBed.with { fleet in
            let engine = try fleet.engine()
            let queue = engine.makeQueue()
            defer { queue.close() }
            try await queue.perform { try EngineSchema.prepare(engine.schema, $0) }
            let lease = try EngineLease.take(engine, ruleSetHash: "r")
            let member = try #require(try engine.snapshot().members.first)
            try engine.drain(member)
            lease.release()
            #expect(try engine.snapshot().members.map(\.id) == [member.id])
        }
    }

    @Test func drainedSharingMemberReleasesEverything() async throws {
        // Long enough that no member loses its lease on a busy machine.
        try await EngineTestBed.with(lease: .seconds(10)) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (first, report) = try Self.shared(fleet, rules, member: 1)
            let (second, other) = try Self.shared(fleet, rules, member: 2)
            try await EngineTestBed.running([first, second]) {
                try await Self.wait(fleet) { $0.sharing.map(\.partitions) == [4, 4] }
                let reader = try #require(try fleet.engine().snapshot().members.first { $0.readsFeed })
                try fleet.engine().drain(reader)
                try await Self.wait(fleet) { snapshot in
                    snapshot.sharing.map(\.partitions) == [8] && snapshot.sharing[0].readsFeed
                        && snapshot.members.first { $0.isDrained }?.id == reader.id
                }
                let snapshot = try fleet.engine().snapshot()
                #expect(snapshot.shared?.takeovers == 0)
                #expect(snapshot.leaseLosses == 0 && snapshot.fencedCommits == 0)
                while await ![report.facts().phase, other.facts().phase].contains(.drained) {
                    try await Task.sleep(for: .milliseconds(20))
                }
                try await fleet.bed.load((1...50).map { task("a\($0)", "apple") })
                try await fleet.bed.wait(until: Self.ids("a", 50), fleet.isDone)
                try fleet.engine().drain(reader, isOver: true)
                try await Self.wait(fleet) { $0.sharing.map(\.partitions) == [4, 4] }
            }
        }
    }

    @Test func drainedProcessStaysDrainedWhenItsRulesChange() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let place = try fleet.place(rules, member: 1)
            let report = RunReport()
            func bot() throws -> Bot {
                var settings = BotSettings()
                settings.delivery.retries.isDaemon = true
                return Bot(
                    gateway: Gateway(fleet.bed.url, settings: fleet.bed.settings), ruleSet: rules, state: place,
                    settings: settings, report: report, logger: BotTestBed.logger)
            }
            try await EngineTestBed.running([try bot()]) {
                try await fleet.wait(until: .following, report)
                try fleet.engine().drain(try #require(try fleet.engine().snapshot().members.first))
            }
            try await EngineTestBed.running([try bot()]) { try await fleet.wait(until: .drained, report) }
            // A new process is a new member.
            try await fleet.running(rules, member: 1) { try await fleet.wait(until: .following, $0) }
        }
    }

    // MARK: - Releasing

    @Test func leasesOfAReleasedMemberGoToOthersAndNothingIsLost() async throws {
        try await EngineTestBed.with(lease: .seconds(3), countsRevisions: true) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let bots = try (1...2).map { try Self.shared(fleet, rules, member: $0) }
            try await EngineTestBed.running(bots.map(\.bot)) {
                try await Self.wait(fleet) { $0.sharing.map(\.partitions) == [4, 4] }
                let reader = try #require(try fleet.engine().snapshot().members.first { $0.readsFeed })
                try await fleet.bed.load((1...200).map { task("a\($0)", "apple") })
                try fleet.engine().release(reader, drains: true)
                // The lease expires first.
                let leases = try await fleet.sql("SELECT count(*) FROM lease WHERE owner = '' AND until > now()")
                #expect(leases.rows == [[.int(5)]])
                try await fleet.bed.load((1...200).map { task("b\($0)", "apple") })
                try await Self.wait(fleet) { snapshot in
                    snapshot.sharing.map(\.partitions) == [8] && snapshot.sharing[0].readsFeed
                }
                try await fleet.bed.wait(until: Self.ids("a", 200) + Self.ids("b", 200), fleet.isDone)
                try await Self.wait(fleet) { $0.members.first { $0.isDrained }?.id == reader.id }
            }
            for id in Self.ids("a", 200) + Self.ids("b", 200) {
                let revision = try await fleet.bed.stored(id)?.root["_rev"]?.string
                #expect(revision?.hasPrefix("2-") == true, "\(id): \(revision ?? "none")")
            }
        }
    }

    @Test func releasedMemberStopsAndAnotherTakesOver() async throws {
        try await EngineTestBed.with(lease: .seconds(3)) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (first, report) = try fleet.bot(rules, member: 1)
            let (second, other) = try fleet.bot(rules, member: 2)
            try await EngineTestBed.running([first]) {
                try await fleet.wait(until: .following, report)
                try await EngineTestBed.running([second]) {
                    try await fleet.wait(until: .onStandby, other)
                    let member = try #require(try fleet.engine().snapshot().members.first { $0.runs })
                    try fleet.engine().release(member, drains: true)
                    try await fleet.wait(until: .drained, report)
                    try await fleet.wait(until: .following, other)
                    #expect(try fleet.engine().snapshot().takeovers == 2)
                    try await fleet.bed.load([task("a", "apple")])
                    try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
                }
            }
        }
    }

    @Test func leaseOfACommandIsRenewed() async throws {
        try await EngineTestBed.with(lease: .seconds(2)) { fleet in
            let (engine, other) = (try fleet.engine(), try fleet.engine())
            let queue = engine.makeQueue()
            defer { queue.close() }
            try await queue.perform { try EngineSchema.prepare(engine.schema, $0) }
            let lease = try EngineLease.take(engine, ruleSetHash: "")
            try await engine.renewingLease {
                try await Task.sleep(for: .seconds(5))
                try lease.requireTenure()
                #expect(throws: StateError.self) { try EngineLease.take(other, ruleSetHash: "") }
            }
            lease.release()
            try EngineLease.take(other, ruleSetHash: "").release()
            #expect(try engine.snapshot().members.isEmpty)
        }
    }

    @Test func settingTheCheckpointMovesNoUnusedLog() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.bot(rules, member: 1, once: true).bot.run()
            let ledger = try EngineState.openExisting(
                try fleet.engine(), directory: fleet.bed.directory, access: .exclusive)
            try await ledger.saveCheckpoint(try #require(SequenceID("7")), reason: "set")
            ledger.close()
            // Otherwise members that share the work later would begin there.
            #expect(try await fleet.sql("SELECT seq FROM fleet").rows == [[.null]])
        }
    }

    @Test func onlyMemberTakesItsLeasesAgain() async throws {
        try await EngineTestBed.with(lease: .seconds(2)) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (bot, _) = try Self.shared(fleet, rules, member: 1)
            try await EngineTestBed.running([bot]) {
                try await Self.wait(fleet) { $0.sharing.map(\.partitions) == [8] }
                let member = try #require(try fleet.engine().snapshot().sharing.first)
                try fleet.engine().release(member, drains: false)
                try await fleet.bed.load([task("a", "apple")])
                try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
            }
        }
    }

    // MARK: - What is seen

    @Test func differentRulesOfMembersAreReported() async throws {
        try await EngineTestBed.with(lease: .seconds(3)) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let others = try fleet.bed.rules(EngineTestBed.apples.replacing("task: apple", with: "task: pear"))
            let bots = [
                try Self.shared(fleet, rules, member: 1).bot, try Self.shared(fleet, others, member: 2).bot,
            ]
            try await EngineTestBed.running(bots) {
                try await Self.wait(fleet) { $0.sharing.count == 2 && $0.ruleSets.count == 2 }
                let snapshot = try fleet.engine().snapshot()
                #expect(Set(snapshot.ruleSets.map(\.hash)) == [rules.hash, others.hash])
                #expect(snapshot.members.map(\.role) == ["auto", "auto"])
                #expect(snapshot.members.map(\.program) == [ProgramVersion.current, ProgramVersion.current])
            }
            #expect(try fleet.engine().snapshot().members.isEmpty)
        }
    }

    @Test func statusOfAMemberShowsTheFleetUnlessTheEngineIsUnreachable() async throws {
        try await EngineTestBed.with(server: try TestPostgres(), lease: .seconds(3)) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (bot, report) = try Self.shared(fleet, rules, member: 1)
            try await EngineTestBed.running([bot]) {
                try await Self.wait(fleet) { $0.sharing.map(\.partitions) == [8] && $0.sharing[0].readsFeed }
                let facts = try #require(await report.fleetFacts(queriesEngine: true))
                #expect(facts.leads && !facts.isDrained)
                #expect(facts.snapshot?.members.map(\.id) == [facts.member])
                #expect(facts.snapshot?.shared?.parts.count { $0.member == facts.member } == 8)
                #expect(await report.fleetFacts(queriesEngine: false)?.snapshot == nil)
                fleet.server.freeze()
                #expect(await report.fleetFacts(queriesEngine: true)?.snapshot == nil)
                fleet.server.thaw()
            }
            #expect(await report.fleetFacts(queriesEngine: true)?.snapshot == nil)
        }
    }

    @Test func lostLeaseIsCountedOnce() {
        let counters = FleetCounters()
        counters.note(.gained(.feed, takeovers: 0))
        counters.note(.gained(.partition(1), takeovers: 0))
        counters.note(.gained(.partition(2), takeovers: 0))
        #expect(counters.readsFeed)
        // A renewal reports the loss, then a refused call does.
        counters.note(.lost(.partition(1)))
        counters.note(.fenced(.partition(1)))
        counters.note(.released(.partition(2)))
        counters.note(.lost(.partition(2)))
        counters.note(.unknownCommit(.feed))
        #expect(counters.counts == [.leaseLosses: 1, .fencedCommits: 1, .unknownCommits: 1])
        counters.note(.gained(.partition(3), takeovers: 0))
        // The member ends before a renewal could report the loss.
        counters.loseAllLeases()
        counters.note(.lost(.partition(3)))
        #expect(!counters.readsFeed && counters.counts[.leaseLosses] == 3)
        counters.note(.gained(.feed, takeovers: 0))
        counters.endSharing()
        counters.note(.lost(.feed))
        #expect(!counters.readsFeed && counters.counts[.leaseLosses] == 3)
    }

    // MARK: - What the fleet gave up

    /// The log of a member that the test simulates.
    private static func joinedLog(of engine: Engine) async throws -> PostgresWorkLog {
        let log = PostgresWorkLog(
            makeQueue: { engine.makeQueue(deadline: $0) }, owner: "test", holder: "test", partitions: 8,
            keepDeadLetters: DeadChanges.keepDeadLetters)
        try await log.prepare()
        _ = try await log.renew()
        return log
    }

    @Test func changeThatCrashedItsProcessesIsARetryableDeadLetter() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (bot, _) = try Self.shared(fleet, rules, member: 1)
            try await EngineTestBed.running([bot]) {
                try await Self.wait(fleet) { $0.sharing.map(\.partitions) == [8] }
            }
            try await fleet.bed.load([task("a", "apple")])
            let revision = try #require(try await fleet.bed.stored(DocumentID("a"))?.root["_rev"]?.string)
            let engine = try fleet.engine()
            let log = try await Self.joinedLog(of: engine)
            defer { log.close() }
            let claim = try #require(try await log.claim([3], atMost: 1).first)
            let entry = FeedEntry(sequence: "7", id: DocumentKey("a"), revision: revision)
            var outcome = PartitionOutcome(position: claim.position)
            outcome.dead = [DeadChange(LoggedChange(n: 1, entry: entry, attempts: 5), reason: "too many tries")]
            _ = try await log.commit(claim, outcome)
            try await log.leave()

            let found = try engine.fatalChanges()
            let change = try #require(found.changes.first)
            #expect(found.gateway == fleet.bed.url.description)
            #expect((change.id, change.revision, change.partition) == ("a", revision, 3))
            #expect(try engine.snapshot().shared?.dead == 1)
            let ledger = try EngineState.openExisting(engine, directory: fleet.bed.directory, access: .readOnly)
            #expect(try ledger.deadLetters(of: DocumentID("a")).map(\.ledgerRecord?.number) == [change.deadLetter])
            ledger.close()

            var settings = Delivery.Settings()
            settings.stateOptions = engine.options
            try await DeadLetterRetry(
                gateway: Gateway(fleet.bed.url, settings: fleet.bed.settings), ruleSet: rules,
                state: try fleet.place(rules, member: 2), name: "bot",
                choose: { _ in .numbers([change.deadLetter ?? 0]) }, outcome: RetryOutcome(), settings: settings,
                report: RunReport(), logger: BotTestBed.logger
            ).run()
            #expect(try await fleet.bed.stored(DocumentID("a")).map { fleet.isDone($0.root) } == true)
            #expect(try engine.fatalChanges().changes.isEmpty)
            #expect(try engine.fatalChanges(includesSettled: true).changes.map(\.deadLetter) == [nil])
            #expect(try engine.snapshot().shared?.dead == 0)
        }
    }

    /// Regression: the table grew without limit.
    @Test func deadChangesWithoutADeadLetterAreForgottenInTheEnd() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.running(rules, member: 1) { try await fleet.wait(until: .following, $0) }
            let engine = try fleet.engine()
            let log = try await Self.joinedLog(of: engine)
            defer { log.close() }
            var claim = try #require(try await log.claim([3], atMost: 1).first)
            func addDeadChanges(_ places: ClosedRange<Int>) async throws {
                var outcome = PartitionOutcome(position: claim.position)
                outcome.dead = places.map { n in
                    let entry = FeedEntry(sequence: "\(n)", id: DocumentKey("d\(n)"), revision: "1-a")
                    return DeadChange(LoggedChange(n: Int64(n), entry: entry, attempts: 5), reason: "too many tries")
                }
                claim = try await log.commit(claim, outcome)
            }
            try await addDeadChanges(1...10)
            try await fleet.sql("DELETE FROM dead_letter WHERE id <> 'd1'")
            try await addDeadChanges(11...1_009)
            #expect(
                try engine.fatalChanges(includesSettled: true).changes.map(\.id)
                    == (["d1"] + (10...1_009).map { "d\($0)" }))
        }
    }

    /// Regression: the time of the last calls to the engine was limited too early. So a run that had done everything
    /// failed if its checkpoint was copied slowly.
    @Test func runAtItsEndNeedNotHurry() async throws {
        try await EngineTestBed.with { bed in
            var fleet = bed
            fleet.remainingCallsTime = .zero
            try await fleet.bed.load([task("a", "apple")])
            let (bot, report) = try fleet.bot(try fleet.bed.rules(EngineTestBed.apples), member: 1, once: true)
            try await bot.run()
            #expect(await report.remains?.deadLetters == 0)
            try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
        }
    }

    // MARK: - Who is there

    /// Regression: it was any member with a lease, and another one each time.
    @Test func holderOfASharedStateIsTheLeader() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.sharing(rules, members: 1...1) { try await fleet.wait(until: .following, $0[0]) }
            for name in ["a", "b", "c"] {
                try await fleet.sql(
                    """
                    INSERT INTO member (owner, holder, shares, since, until)
                    VALUES ('\(name)', 'process \(name)', true, clock_timestamp(), clock_timestamp() + interval '1 hour')
                    """)
            }
            for name in ["b", "c", "a"] {
                try await fleet.sql(
                    """
                    UPDATE lease SET owner = '\(name)', until = clock_timestamp() + interval '1 hour' WHERE name = 'feed'
                    """)
                let ledger = try EngineState.openExisting(
                    try fleet.engine(), directory: fleet.bed.directory, access: .readOnly)
                #expect(ledger.holder == "process \(name)")
                ledger.close()
            }
        }
    }

    @Test func resetNamesAllMembersThatMustStop() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.bot(rules, member: 1, once: true).bot.run()
            for name in ["a", "b"] {
                try await fleet.sql(
                    """
                    INSERT INTO member (owner, holder, rule_set, since, until)
                    VALUES ('\(name)', 'process \(name)', '', clock_timestamp(), clock_timestamp() + interval '1 hour')
                    """)
            }
            let error = #expect(throws: StateError.self) { try fleet.engine().reset() }
            #expect(error?.description.contains("process a; process b") == true, "\(String(describing: error))")
        }
    }

    /// Even if no fleet was named.
    @Test func failedListOfFleetsNamesTheServer() async throws {
        try await EngineTestBed.with { bed in
            var fleet = bed
            fleet.database = fleet.server.uniqueName("missing")
            let engine = try fleet.engine()
            let error = #expect(throws: StateError.self) { try engine.fleets() }
            let text = error?.description ?? ""
            #expect(text.contains("\(engine.address)") && !text.contains("the fleet"), "\(text)")
        }
    }
}
