import Fleet
import FleetEngine
import Locking
import PostgreSQL
import TestKit

@testable import BotState

/// A work log in its own schema, on the server that all tests share or on another one.
struct TestBed: Sendable {
    /// With room for the connections of all tests at once.
    private static let shared = Result { try TestPostgres(settings: ["max_connections=300"]) }

    let server: TestPostgres
    let schema: String
    let address: PostgresAddress
    let leaseTime: Duration
    let partitions: Int
    /// For ``run(_:)``: making a connection takes longer than most statements.
    private let connection: PostgresQueue

    /// - Parameter standby: Of the server; it is in the address, too.
    init(
        _ server: TestPostgres? = nil, standby: TestPostgres? = nil, leaseTime: Duration = .seconds(5),
        partitions: Int = 4
    ) throws {
        self.server = try server ?? Self.shared.get()
        schema = self.server.uniqueName("changebot_log")
        let hosts = [self.server, standby].compactMap { $0 }.map { "127.0.0.1:\($0.port)" }
        address = try PostgresAddress("postgres://postgres@\(hosts.joined(separator: ","))/postgres")
        (self.leaseTime, self.partitions) = (leaseTime, partitions)
        connection = Self.queue(address, schema, .seconds(10), leaseTime)
    }

    func queue(_ deadline: Duration = .seconds(10), _ other: PostgresAddress? = nil) -> PostgresQueue {
        Self.queue(other ?? address, schema, deadline, leaseTime)
    }

    private static func queue(
        _ address: PostgresAddress, _ schema: String, _ deadline: Duration, _ leaseTime: Duration
    ) -> PostgresQueue {
        var settings = PostgresSettings()
        settings.schema = schema
        settings.deadline = deadline
        settings.idleInTransactionTimeout = min(deadline, leaseTime / 2)
        return PostgresQueue(address, settings: settings)
    }

    /// The log as a member sees it.
    func log(
        _ owner: String, works: Bool = true, isDirect: Bool = false, partitions: Int? = nil,
        through other: PostgresAddress? = nil
    ) -> PostgresWorkLog {
        PostgresWorkLog(
            makeQueue: { queue($0, other) }, owner: owner, holder: "test \(owner)", works: works, isDirect: isDirect,
            leaseTime: leaseTime, partitions: partitions ?? self.partitions)
    }

    func prepared(_ owner: String, works: Bool = true) async throws -> PostgresWorkLog {
        let log = log(owner, works: works)
        try await prepare(log)
        return log
    }

    /// Makes the tables and the partitions if they are missing.
    func prepare(_ log: PostgresWorkLog, through other: PostgresAddress? = nil) async throws {
        let queue = queue(.seconds(10), other)
        defer { queue.close() }
        try await queue.perform { [schema] in try EngineSchema.prepare(schema, $0) }
        try await log.prepare()
    }

    /// Runs statements in the schema.
    @discardableResult
    func run(_ sql: String...) async throws -> [[PostgresValue]] {
        try await connection.perform { connection in
            try connection.transaction { connection in
                var rows: [[PostgresValue]] = []
                for sql in sql { rows = try connection.run(sql).rows }
                return rows
            }
        }
    }

    /// Lets time pass, as the engine sees it.
    func pass(_ time: Duration) async throws {
        let past = "interval '1 millisecond' * \(time / .milliseconds(1))"
        try await run(
            "UPDATE lease SET until = until - \(past)", "UPDATE member SET until = until - \(past)",
            "UPDATE fleet SET quiet_until = quiet_until - \(past)", "UPDATE parked SET due = due - \(past)",
            "UPDATE work SET at = at - \(past)")
    }

    /// All dead changes, with what a comparison needs.
    func dead() async throws -> [DeadChange] {
        try await run("SELECT n, id, attempts FROM dead_change ORDER BY n").map { row in
            let entry = FeedEntry(sequence: "", id: DocumentKey(bytes: row[1].bytes ?? []), revision: "")
            return DeadChange(
                LoggedChange(n: Int64(row[0].int ?? 0), entry: entry, attempts: row[2].int ?? 0), reason: "")
        }
    }

    private static let tables = [
        "fleet", "lease", "member", "partition_position", "work", "parked", "dead_change", "mark",
    ]

    /// Saves the content of the tables.
    func save() async throws {
        for table in Self.tables {
            try await run("DROP TABLE IF EXISTS old_\(table)", "CREATE TABLE old_\(table) AS TABLE \(table)")
        }
    }

    /// Restores the saved content, as if another server had it.
    func restore() async throws {
        for table in Self.tables {
            try await run("DELETE FROM \(table)", "INSERT INTO \(table) TABLE old_\(table)")
        }
        try await run("UPDATE fleet SET timeline = timeline || '-'")
    }
}
