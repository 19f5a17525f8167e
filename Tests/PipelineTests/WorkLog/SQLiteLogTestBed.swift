import Fleet
import Locking

@testable import Pipeline

/// A log in the file of a state.
struct SQLiteLogTestBed: Sendable {
    let ledger: Ledger
    let leaseTime: Duration
    private let time = Locked(1_000_000)

    static func with(leaseTime: Duration = .seconds(5), _ body: (SQLiteLogTestBed) async throws -> Void) async throws {
        try await LedgerTestBed.withLedger { _, ledger in
            try await body(SQLiteLogTestBed(ledger: ledger, leaseTime: leaseTime))
        }
    }

    init(ledger: Ledger, leaseTime: Duration) { (self.ledger, self.leaseTime) = (ledger, leaseTime) }

    func member(_ owner: String, works: Bool = true, partitions: Int = 4) async throws -> SQLiteWorkLog {
        let log = SQLiteWorkLog(
            ledger.store, path: ledger.path, owner: owner, works: works, leaseTime: leaseTime, partitions: partitions,
            time: { [time] in time.withLock { $0 } })
        try await log.prepare()
        return log
    }

    func pass(_ time: Duration) { self.time.withLock { $0 += time.wholeMilliseconds } }

    private static let tables = [
        "fleet", "work_lease", "work_member", "partition_position", "work", "parked", "dead_change", "mark",
    ]

    /// Keeps what the tables have now.
    func save() async throws {
        try await write(
            Self.tables.flatMap {
                ["DROP TABLE IF EXISTS old_\($0)", "CREATE TABLE old_\($0) AS SELECT * FROM \($0)"]
            })
    }

    /// Puts back what was saved, as from a copy that no member has seen.
    func restore() async throws {
        try await write(
            Self.tables.flatMap { ["DELETE FROM \($0)", "INSERT INTO \($0) SELECT * FROM old_\($0)"] }
                + ["UPDATE fleet SET changes = -1"])
    }

    private func write(_ statements: [String]) async throws {
        try await ledger.write { session in
            for sql in statements { try session.execute(sql) }
        }
    }

    /// All dead changes, with what a comparison needs.
    func dead() throws -> [DeadChange] {
        try ledger.read { try $0.rows("SELECT n, CAST(id AS TEXT), attempts FROM dead_change ORDER BY n") }.map { row in
            let entry = FeedEntry(sequence: "", id: DocumentKey(row[1] as String), revision: "")
            return DeadChange(LoggedChange(n: Int64(row[0] as Int), entry: entry, attempts: row[2]), reason: "")
        }
    }

    func count(_ table: String) throws -> Int {
        try ledger.read { try $0.value(Int.self, "SELECT COUNT(*) FROM \(table)") } ?? 0
    }
}
