import DocumentFlow
import Fleet
import Foundation
import GatewayClient
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

/// A fleet on an embedded gateway and a PostgreSQL server.
struct EngineTestBed {
    let bed: BotTestBed
    let server: TestPostgres
    let fleet: String
    /// Long, so that a member keeps it on a busy machine; short in tests that wait until it expires.
    var lease: Duration = .seconds(10)
    /// Long, so that a member leaves on a busy machine, too.
    var remainingCallsTime: Duration = .seconds(60)
    /// How the members log in.
    var database = "postgres"
    var user: String?
    var password: @Sendable () -> String? = { nil }

    static let apples = """
        version: 1
        rules:
          - name: apples
            when: { type: task, task: apple, done: { $exists: false } }
            then: [ { merge: { done: true } } ]
        """

    /// - Parameters:
    ///   - server: Nil: the server that all tests share.
    ///   - countsRevisions: See ``BotTestBed/with(countsRevisions:_:)``.
    static func with(
        server: TestPostgres? = nil, lease: Duration = .seconds(10), countsRevisions: Bool = false,
        _ body: (EngineTestBed) async throws -> Void
    ) async throws {
        let server = try server ?? TestPostgres.shared
        try await BotTestBed.with(countsRevisions: countsRevisions) { bed in
            try await body(EngineTestBed(bed: bed, server: server, fleet: server.uniqueName("fleet"), lease: lease))
        }
    }

    /// Like ``with(server:lease:countsRevisions:_:)``, with a gateway that keeps conflicts.
    static func keepingConflicts(_ body: (EngineTestBed) async throws -> Void) async throws {
        let server = try TestPostgres.shared
        try await BotTestBed.keepingConflicts { bed in
            try await body(EngineTestBed(bed: bed, server: server, fleet: server.uniqueName("fleet")))
        }
    }

    /// Runs members that share the work while `body` runs, then stops them gracefully.
    func sharing(
        _ rules: RuleSet, members: ClosedRange<Int> = 1...3, partitions: Int = 16,
        configure: (inout BotSettings) -> Void = { _ in },
        _ body: @escaping @Sendable ([RunReport]) async throws -> Void
    ) async throws {
        let bots = try members.map { number in
            try bot(rules, member: number) { settings in
                settings.fleet.sharing = Sharing(role: .auto, partitions: partitions)
                configure(&settings)
            }
        }
        let reports = bots.map(\.report)
        try await Self.running(bots.map(\.bot)) {
            for report in reports { try await wait(until: .following, report) }
            // Wait until the partitions are distributed.
            try await wait(
                until: 1, "SELECT count(DISTINCT owner) >= \(bots.count) FROM lease WHERE name <> 'feed'")
            try await body(reports)
        }
    }

    /// The engine, as a process uses it.
    func engine(_ fleet: String? = nil) throws -> Engine {
        var engine = Engine(
            try PostgresAddress(server.url(database)), fleet: fleet ?? self.fleet, user: user, password: password,
            lease: lease)
        engine.remainingCallsTime = remainingCallsTime
        return engine
    }

    func place(_ ruleSet: RuleSet, member: Int, fleet: String? = nil) throws -> StatePlace {
        StatePlace(
            StateCatalogue(directory: bed.directory + "/member\(member)", name: "bot", engine: try engine(fleet)),
            address: bed.url.description, ruleSetHash: ruleSet.hash, purpose: .run)
    }

    /// - Parameter address: The URL of the gateway; nil: the bed's own.
    func bot(
        _ ruleSet: RuleSet, member: Int, once: Bool = false, through address: GatewayURL? = nil,
        configure: (inout BotSettings) -> Void = { _ in }
    ) throws -> (bot: Bot, report: RunReport) {
        var settings = BotSettings()
        settings.isOneShot = once
        settings.delivery.retries.isDaemon = !once
        settings.delivery.intervals.checkpoint = .milliseconds(10)
        settings.delivery.intervals.followingCheckpoint = .milliseconds(10)
        configure(&settings)
        let report = RunReport()
        let bot = Bot(
            gateway: Gateway(address ?? bed.url, settings: bed.settings), ruleSet: ruleSet,
            state: try place(ruleSet, member: member), settings: settings, report: report, logger: BotTestBed.logger)
        return (bot, report)
    }

    /// Runs a member while `body` runs, then stops it gracefully.
    func running(
        _ ruleSet: RuleSet, member: Int, _ body: @escaping @Sendable (RunReport) async throws -> Void
    ) async throws {
        let (bot, report) = try bot(ruleSet, member: member)
        try await Self.running([bot]) { try await body(report) }
    }

    /// Runs bots while `body` runs, then stops them gracefully. Ends at once if one of them ends.
    static func running(_ bots: [Bot], _ body: @escaping @Sendable () async throws -> Void) async throws {
        let group = ServiceGroup(services: bots, logger: BotTestBed.logger)
        let isOver = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                try await group.run()
                try #require(isOver.withLock { $0 }, "a bot has ended")
            }
            tasks.addTask {
                try await body()
                isOver.withLock { $0 = true }
                await group.triggerGracefulShutdown()
            }
            // Not `waitForAll`, which cancels nothing if one fails.
            while try await tasks.next() != nil {}
        }
    }

    /// Returns once the run is in this phase.
    func wait(until phase: RunFacts.Phase, _ report: RunReport) async throws {
        while await report.facts().phase != phase { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Runs statements in the fleet's schema.
    @discardableResult
    func sql(_ statement: String, fleet: String? = nil) async throws -> PostgresResult {
        let queue = try engine(fleet).makeQueue()
        defer { queue.close() }
        return try await queue.perform { try $0.run(statement) }
    }

    /// Runs statements as the administrator of the server, and retries while members block them.
    func administer(_ script: String) async throws {
        var settings = PostgresSettings()
        // Before it drops a database, a busy server writes all its data to disk.
        settings.deadline = .seconds(120)
        let queue = PostgresQueue(try PostgresAddress(server.url()), settings: settings)
        defer { queue.close() }
        while true {
            do { return try await queue.perform { try $0.script(script) } } catch PostgresError.conflict {}
        }
    }

    /// Returns once a statement in the fleet's schema returns this number.
    func wait(until number: Int, _ statement: String) async throws {
        // Use one connection: opening one takes the server longer than running the statement.
        let queue = try engine().makeQueue()
        defer { queue.close() }
        while try await queue.perform({ try $0.run(statement).rows }) != [[.int(number)]] {
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Another member takes over by force, as after the lease has expired.
    func takeLeaseAway(for seconds: Int = 3600) async throws {
        try await sql(
            """
            WITH l AS (
                UPDATE lease SET owner = 'other', token = token + 1, direct = true,
                    until = clock_timestamp() + interval '\(seconds) seconds' WHERE name = 'feed' RETURNING until),
            m AS (UPDATE member SET membership = NULL WHERE owner <> 'other')
            INSERT INTO member (owner, holder, since, until) SELECT 'other', 'another', until, until FROM l
            ON CONFLICT (owner) DO UPDATE SET until = excluded.until
            """)
    }

    func isDone(_ document: JSONValue) -> Bool { document["done"]?.bool == true }
}
