internal import Foundation
internal import PostgreSQL
internal import TestKit

/// The processes of one fleet.
final class FleetProcesses {
    /// The default of `--partitions`.
    static let partitions = 64

    private let queue: PostgresQueue
    private let url: String
    private let name: String
    private let schema: String
    private(set) var members: [Process] = []

    init(_ url: String, name: String) throws {
        let environment = ProcessInfo.processInfo.environment
        queue = PostgresQueue(
            try PostgresAddress(url), user: environment["CHANGEBOT_ENGINE_USER"],
            password: { environment["CHANGEBOT_ENGINE_PASSWORD"] })
        (self.url, self.name) = (url, name)
        schema = PostgresConnection.quotedIdentifier("changebot_\(name)")
    }

    private func rows(_ sql: String) throws -> [[PostgresValue]] { try queue.performNow { try $0.run(sql).rows } }

    /// The position of PostgreSQL's log (WAL), in bytes.
    func walPosition() throws -> Int {
        try rows("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")[0][0].int ?? 0
    }

    /// - Parameter processor: The only processor that it and its helpers may use. Nil: all.
    func start(_ role: String, on processor: Int? = nil, options: [String], in directory: String) throws {
        let count = ProcessInfo.processInfo.activeProcessorCount
        let pinned = processor.map { ["/usr/bin/taskset", "--cpu-list", "\($0 % count)"] } ?? []
        members.append(
            try Program.start(
                pinned + [Program.path, "run", "--quiet", "--engine", url, "--fleet", name, "--role", role]
                    + ["--state", directory + "/\(name)-\(members.count)"] + options))
    }

    /// Waits until `workers` members share the partitions fairly.
    func waitUntilShared(among workers: Int) throws {
        let shares = """
            SELECT count(*)::int FROM \(schema).lease
            WHERE name <> 'feed' AND until > clock_timestamp() GROUP BY owner
            """
        try wait("the members do not share the work", within: .seconds(60)) {
            guard try !rows("SELECT FROM pg_tables WHERE schemaname = 'changebot_\(name)'").isEmpty else {
                return false
            }
            let counts = try rows(shares).compactMap { $0[0].int }
            // The maximum is a fair share, rounded up.
            return counts.count == workers && counts.reduce(0, +) == Self.partitions
                && counts.max() == (Self.partitions - 1) / workers + 1
        }
    }

    /// Checks every 20 ms.
    func wait(_ problem: String, within time: Duration, until isDone: () throws -> Bool) throws {
        let deadline = ContinuousClock.now + time
        while try !isDone() {
            guard members.allSatisfy(\.isRunning) else { throw BenchmarkError("a member has ended") }
            guard ContinuousClock.now < deadline else { throw BenchmarkError(problem) }
            usleep(20_000)
        }
    }

    /// Ends all members, and removes their data.
    func end() {
        for member in members { member.terminate() }
        for member in members { member.waitUntilExit() }
        do { _ = try rows("DROP SCHEMA IF EXISTS \(schema) CASCADE") } catch {
            print("  can't remove the fleet \(name): \(error)")
        }
    }
}
