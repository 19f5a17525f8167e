import DocumentFlow
import Fleet
import GatewayClient
import Glibc
import Locking
import LosslessJSON
import PostgreSQL
import Rules
import ServiceLifecycle
import TestKit
import Testing

@testable import BotState
@testable import Bots
@testable import Delivery

/// Damage to the engine while members run, with and without shared work, and mistakes in its setup.
@Suite(.limitedParallelism(isLong: true)) struct EngineFailureTests {
    private static func running(
        _ fleet: EngineTestBed, shares: Bool, lossDelay: Duration = .seconds(3600),
        _ body: @escaping @Sendable (RunReport) async throws -> Void
    ) async throws {
        let rules = try fleet.bed.rules(EngineTestBed.apples)
        let (bot, report) = try bot(fleet, rules, shares: shares) { settings in
            settings.feed.since = .now
            settings.fleet.lossDelay = lossDelay
            settings.checkInterval = .milliseconds(500)
        }
        try await EngineTestBed.running([bot]) {
            try await fleet.wait(until: .following, report)
            try await fleet.bed.load([task("before", "apple")])
            try await fleet.bed.wait(until: DocumentID("before"), fleet.isDone)
            try await body(report)
        }
    }

    private static func bot(
        _ fleet: EngineTestBed, _ rules: RuleSet, shares: Bool, configure: (inout BotSettings) -> Void = { _ in }
    ) throws -> (bot: Bot, report: RunReport) {
        try fleet.bot(rules, member: 1) { settings in
            if shares { settings.fleet.sharing = Sharing(role: .auto, partitions: 4) }
            configure(&settings)
        }
    }

    private static func finish(_ fleet: EngineTestBed) async throws {
        try await fleet.bed.load((1...20).map { task("after\($0)", "apple") })
        try await fleet.bed.wait(until: (1...20).map { DocumentID("after\($0)") }, fleet.isDone)
    }

    // MARK: - While members run

    @Test(arguments: [false, true])
    func vanishedTablesAreRecreatedAndNothingIsSkipped(shares: Bool) async throws {
        try await EngineTestBed.with(lease: .seconds(2)) { fleet in
            try await Self.running(fleet, shares: shares, lossDelay: .milliseconds(300)) { report in
                try await fleet.administer("DROP SCHEMA \"changebot_\(fleet.fleet)\" CASCADE")
                // Also changes that arrive while there is no state.
                try await fleet.bed.load([task("meanwhile", "apple")])
                try await fleet.bed.wait(until: DocumentID("meanwhile"), fleet.isDone)
                try await Self.finish(fleet)
            }
        }
    }

    /// Even a member that never ran does not begin at the newest sequence.
    @Test func standbyThatFindsNoTablesSkipsNothing() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (bot, report) = try Self.bot(fleet, rules, shares: false) { settings in
                settings.feed.since = .now
                settings.fleet.lossDelay = .zero
            }
            try await fleet.bot(rules, member: 2, once: true).bot.run()
            try await fleet.takeLeaseAway()
            try await EngineTestBed.running([bot]) {
                try await fleet.wait(until: .onStandby, report)
                try await fleet.bed.load([task("meanwhile", "apple")])
                try await fleet.administer("DROP SCHEMA \"changebot_\(fleet.fleet)\" CASCADE")
                try await fleet.bed.wait(until: DocumentID("meanwhile"), fleet.isDone)
            }
        }
    }

    /// As when a dump is restored.
    @Test(arguments: [false, true])
    func vanishedTablesMayReappear(shares: Bool) async throws {
        try await EngineTestBed.with(lease: .seconds(2)) { fleet in
            try await Self.running(fleet, shares: shares) { report in
                let schema = "changebot_\(fleet.fleet)"
                try await fleet.administer("ALTER SCHEMA \"\(schema)\" RENAME TO \"\(schema)_away\"")
                try await fleet.wait(until: .onStandby, report)
                try await fleet.bed.load([task("meanwhile", "apple")])
                try await Task.sleep(for: .seconds(1))
                try await fleet.administer("ALTER SCHEMA \"\(schema)_away\" RENAME TO \"\(schema)\"")
                try await fleet.bed.wait(until: DocumentID("meanwhile"), fleet.isDone)
                try await Self.finish(fleet)
            }
        }
    }

    /// As while pg_restore --clean recreates them: the keys come last.
    ///
    /// Regression: it ended each member.
    @Test(arguments: [false, true])
    func tablesWithoutKeysEndNoMember(shares: Bool) async throws {
        try await EngineTestBed.with(lease: .seconds(2)) { fleet in
            try await Self.running(fleet, shares: shares) { _ in
                let keys = [("member", "owner"), ("lease", "name")]
                for (table, _) in keys { try await fleet.sql("ALTER TABLE \(table) DROP CONSTRAINT \(table)_pkey") }
                try await fleet.wait(until: 1, "SELECT bool_and(until < clock_timestamp()) FROM member")
                try await fleet.bed.load([task("meanwhile", "apple")])
                for (table, key) in keys { try await fleet.sql("ALTER TABLE \(table) ADD PRIMARY KEY (\(key))") }
                try await fleet.bed.wait(until: DocumentID("meanwhile"), fleet.isDone)
                try await Self.finish(fleet)
            }
        }
    }

    @Test(arguments: [false, true])
    func changedPasswordEndsNoMember(shares: Bool) async throws {
        try await EngineTestBed.with(lease: .seconds(2)) { bed in
            var fleet = bed
            let user = fleet.server.uniqueName("user")
            let password = Locked("one")
            try await fleet.administer(
                """
                DO $$ BEGIN CREATE ROLE with_password; EXCEPTION WHEN duplicate_object OR unique_violation THEN END $$;
                CREATE ROLE \(user) LOGIN PASSWORD 'one' IN ROLE with_password;
                GRANT CREATE ON DATABASE postgres TO \(user)
                """)
            (fleet.user, fleet.password) = (user, { password.withLock { $0 } })
            try await Self.running(fleet, shares: shares) { [fleet] report in
                try await fleet.administer(
                    """
                    ALTER ROLE \(user) PASSWORD 'two';
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '\(user)'
                    """)
                try await fleet.wait(until: .onStandby, report)
                try await Task.sleep(for: .seconds(1))
                password.withLock { $0 = "two" }
                try await Self.finish(fleet)
            }
        }
    }

    @Test(arguments: [false, true])
    func recreatedEngineDatabaseIsUsed(shares: Bool) async throws {
        try await EngineTestBed.with(lease: .seconds(2)) { bed in
            var fleet = bed
            fleet.database = fleet.server.uniqueName("database")
            try fleet.server.createDatabase(fleet.database)
            try await Self.running(fleet, shares: shares, lossDelay: .milliseconds(300)) { [fleet] report in
                try await fleet.administer("DROP DATABASE \(fleet.database) WITH (FORCE)")
                try await fleet.wait(until: .onStandby, report)
                try await Task.sleep(for: .seconds(1))
                try fleet.server.createDatabase(fleet.database)
                try await Self.finish(fleet)
            }
        }
    }

    /// The engine answers none of the calls at the end. Each call could wait for ten seconds, or for an hour if its
    /// deadline is that of the lease.
    @Test(arguments: [false, true])
    func frozenServerDoesNotDelayTheEnd(shares: Bool) async throws {
        try await EngineTestBed.with(server: try TestPostgres(), lease: .seconds(3600)) { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            let (bot, report) = try Self.bot(fleet, rules, shares: shares)
            var configuration = ServiceGroupConfiguration(
                services: [.init(service: bot, successTerminationBehavior: .gracefullyShutdownGroup)],
                logger: BotTestBed.logger)
            configuration.maximumGracefulShutdownDuration = .seconds(1)
            let group = ServiceGroup(configuration: configuration)
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await group.run() }
                try await fleet.wait(until: .following, report)
                fleet.server.freeze()
                try await fleet.bed.load((1...20).map { task("a\($0)", "apple") })
                let began = ContinuousClock.now
                await group.triggerGracefulShutdown()
                try? await tasks.waitForAll()
                // Three calls of ten seconds, one after the other, would take 30 s. It takes one second if the machine
                // is not busy.
                #expect(began.duration(to: .now) < .seconds(30))
            }
        }
    }

    /// Regression: each outage counted against the documents that were being decided, and after several outages they
    /// became dead letters.
    @Test func repeatedEngineFailuresCauseNoDeadLetters() async throws {
        let mayAnswer = Monitor(false)
        let receiver = try TestReceiver { _, _ in
            mayAnswer.block { $0 }
            return .answer(204)
        }
        try await EngineTestBed.with(server: try TestPostgres(), lease: .seconds(2)) { fleet in
            defer { mayAnswer.with { $0 = true } }
            let rules = try fleet.bed.rules(
                """
                version: 1
                rules:
                  - name: tell
                    when: { type: task, done: { $exists: false } }
                    then: [ { webhook: { url: \(receiver.url), timeout: 5m } }, { merge: { done: true } } ]
                """)
            let (bot, report) = try Self.bot(fleet, rules, shares: true)
            try await EngineTestBed.running([bot]) {
                try await fleet.wait(until: .following, report)
                try await fleet.bed.load([task("a", "apple")])
                for outage in 1...8 {
                    await receiver.wait(for: outage)
                    fleet.server.stop()
                    try await fleet.wait(until: .onStandby, report)
                    try fleet.server.start()
                }
                await receiver.wait(for: 9)
                mayAnswer.with { $0 = true }
                try await fleet.bed.wait(until: DocumentID("a"), fleet.isDone)
            }
            #expect(try await fleet.sql("SELECT count(*) FROM dead_letter").rows == [[.int(0)]])
            #expect(try await fleet.sql("SELECT count(*) FROM dead_change").rows == [[.int(0)]])
        }
    }

    // MARK: - At the start

    @Test(arguments: [false, true])
    func refusedLoginAtTheStartEndsTheRun(shares: Bool) async throws {
        try await EngineTestBed.with { bed in
            var fleet = bed
            fleet.user = "nobody_\(fleet.fleet)"
            let (bot, _) = try Self.bot(fleet, try fleet.bed.rules(EngineTestBed.apples), shares: shares)
            let error = await #expect(throws: StateError.self) { try await bot.run() }
            #expect(error?.description.contains("check the user") == true, "\(String(describing: error))")
        }
    }

    @Test(arguments: [false, true])
    func missingEngineDatabaseAtTheStartEndsTheRun(shares: Bool) async throws {
        try await EngineTestBed.with { bed in
            var fleet = bed
            fleet.database = fleet.server.uniqueName("missing")
            let (bot, _) = try Self.bot(fleet, try fleet.bed.rules(EngineTestBed.apples), shares: shares)
            let error = await #expect(throws: StateError.self) { try await bot.run() }
            #expect(error?.description.contains("createdb") == true, "\(String(describing: error))")
        }
    }

    @Test(arguments: [false, true])
    func missingPrivilegeIsNamed(shares: Bool) async throws {
        try await EngineTestBed.with { bed in
            var fleet = bed
            let user = fleet.server.uniqueName("poor")
            try await fleet.administer("CREATE ROLE \(user) LOGIN")
            fleet.user = user
            let (bot, _) = try Self.bot(fleet, try fleet.bed.rules(EngineTestBed.apples), shares: shares)
            let error = await #expect(throws: StateError.self) { try await bot.run() }
            #expect(
                error?.description.contains("GRANT CONNECT, CREATE ON DATABASE \"postgres\" TO") == true,
                "\(String(describing: error))")
            guard case .cannotCreate = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test(arguments: [false, true])
    func userWithoutConnectPrivilegeIsReported(shares: Bool) async throws {
        try await EngineTestBed.with { bed in
            var fleet = bed
            let user = fleet.server.uniqueName("stranger")
            fleet.database = fleet.server.uniqueName("closed")
            try fleet.server.createDatabase(fleet.database)
            try await fleet.administer(
                "CREATE ROLE \(user) LOGIN; REVOKE CONNECT ON DATABASE \(fleet.database) FROM PUBLIC")
            fleet.user = user
            let (bot, _) = try Self.bot(fleet, try fleet.bed.rules(EngineTestBed.apples), shares: shares)
            let error = await #expect(throws: StateError.self) { try await bot.run() }
            #expect(error?.description.contains("GRANT CONNECT") == true, "\(String(describing: error))")
        }
    }

    @Test func processDescriptionIsStable() async throws {
        let first = StateLock.thisProcess
        try await Task.sleep(for: .milliseconds(1100))
        #expect(StateLock.thisProcess == first)
    }

    // MARK: - Marks that are written late

    /// CouchDB accepts a late write of a local document, even if newer ones were written in the meantime.
    @Test func lateMarkWriteIsNotTakenForARestore() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            func runOnce() async throws {
                try await fleet.bot(rules, member: 1, once: true) { $0.onReset = .stop }.bot.run()
            }
            func writeMark(_ write: String) async throws {
                let gateway = Gateway(fleet.bed.url, settings: fleet.bed.settings)
                _ = try await MarkDocument(gateway: gateway, name: "changebot").replace { found in
                    var mark = found?.mark
                    mark?.write = write
                    return mark
                }
                // As if others had written it more often.
                try await fleet.sql("UPDATE identity SET value = '1000000' WHERE name = 'mark'")
            }
            try await runOnce()
            try await fleet.sql("INSERT INTO mark_write (id) VALUES ('late')")
            try await writeMark("late")
            try await runOnce()
            #expect(try await fleet.sql("SELECT count(*) FROM mark_write").rows == [[.int(0)]])
            // The same mark again is that of a backup.
            try await writeMark("late")
            await #expect(throws: RunError.self) { try await runOnce() }
        }
    }

    // MARK: - Removing a fleet

    private static func exists(_ schema: String, _ fleet: EngineTestBed) async throws -> Bool {
        try await fleet.sql("SELECT count(*) FROM pg_namespace WHERE nspname = '\(schema)'").rows == [[.int(1)]]
    }

    @Test func resetAlsoRemovesTheFleetOfFix() async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.bot(rules, member: 1, once: true).bot.run()
            let fix = Fixer(
                gateway: Gateway(fleet.bed.url, settings: fleet.bed.settings), ruleSet: rules,
                state: try fleet.place(rules, member: 1, fleet: "fix-" + fleet.fleet), settings: Delivery.Settings(),
                report: RunReport(), logger: BotTestBed.logger)
            try await fix.run()
            #expect(try await Self.exists("changebot_fix-\(fleet.fleet)", fleet))
            try fleet.engine().reset()
            #expect(try await !Self.exists("changebot_fix-\(fleet.fleet)", fleet))
            #expect(try await !Self.exists("changebot_\(fleet.fleet)", fleet))
        }
    }

    /// It becomes a member in a transaction that is still open.
    @Test(arguments: ["", "fix-"])
    func startingMemberPreventsAReset(prefix: String) async throws {
        try await EngineTestBed.with { fleet in
            let rules = try fleet.bed.rules(EngineTestBed.apples)
            try await fleet.bot(rules, member: 1, once: true).bot.run()
            let engine = try fleet.engine(prefix + fleet.fleet)
            let queue = engine.makeQueue()
            defer { queue.close() }
            try await queue.perform { try EngineSchema.prepare(engine.schema, $0) }
            let began = Signal()
            async let start: Void = queue.perform { connection in
                try connection.transaction { connection in
                    try EngineMember.renew(engine, connection)
                    began.raise()
                    usleep(500_000)
                }
            }
            try await began.wait()
            let whole = try fleet.engine()
            let error = await #expect(throws: StateError.self) {
                try await BlockingCall.run { () throws(StateError) in try whole.reset() }
            }
            try await start
            guard case .locked = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(try await Self.exists("changebot_\(fleet.fleet)", fleet))
        }
    }
}
