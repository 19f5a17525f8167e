internal import Foundation
internal import PostgreSQL
internal import TestKit

/// The PostgreSQL that keeps the log of a fleet: one of this benchmark's own, or one that is given.
final class BenchmarkEngine: Sendable {
    let url: String
    /// Nil: it was given.
    private let own: TestPostgres?
    private let queue: PostgresQueue

    /// Makes a new cluster and starts it, if there is no URL.
    init(_ url: String?) throws {
        own = try url == nil ? TestPostgres() : nil
        self.url = url ?? own?.url() ?? ""
        let environment = ProcessInfo.processInfo.environment
        queue = PostgresQueue(
            try PostgresAddress(self.url), user: environment["CHANGEBOT_ENGINE_USER"],
            password: { environment["CHANGEBOT_ENGINE_PASSWORD"] })
    }

    /// How much its processes have used, in seconds; nil if it was given.
    var processor: Double? { own?.processID.map { ProcessorTime.seconds(of: [$0]) } }

    /// How far its log (WAL) is, in bytes.
    func writtenBytes() throws -> Int {
        try rows("SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint")[0][0].int ?? 0
    }

    /// Blocks the thread.
    ///
    /// - Parameter sql: One statement.
    func rows(_ sql: String) throws -> [[PostgresValue]] { try queue.performNow { try $0.run(sql).rows } }

    /// Removes all that a fleet has made. Its members must have ended.
    func remove(_ fleet: String) throws {
        _ = try rows("DROP SCHEMA IF EXISTS \(Self.schema(of: fleet)) CASCADE")
    }

    static func schema(of fleet: String) -> String { PostgresConnection.quotedIdentifier("changebot_\(fleet)") }
}
