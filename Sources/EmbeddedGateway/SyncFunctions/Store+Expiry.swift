internal import GRDB
internal import NIOConcurrencyHelpers

/// When the next document of a collection expires.
final class NextExpiry: Sendable {
    /// Seconds since 1970. Nil: none expires.
    private let time = NIOLockedValueBox<Int?>(nil)

    func isDue(_ now: Int) -> Bool { time.withLockedValue { $0 }.map { $0 <= now } ?? false }

    func set(_ next: Int?) { time.withLockedValue { $0 = next } }

    func bringForward(to other: Int) { time.withLockedValue { $0 = min($0 ?? other, other) } }
}

extension Store {
    /// How long an expired document may remain if it is not requested, in seconds.
    private static let expiryGrace = 60

    /// Replaces expired documents by tombstones: the requested document at once, others a while later. Called before
    /// each request.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1. Couchbase Server checks for expired documents periodically.
    func expireDue(asking id: String) async throws {
        let now = rules.now()
        guard nextExpiry.isDue(now) else { return }
        let condition: SQL = """
            d.collection = \(collection) AND (d.expires <= \(now - Self.expiryGrace)
                OR d.expires <= \(now) AND d.id = \(id))
            """
        let isAny = try read { db in
            try SQLRequest<Int>(literal: "SELECT 1 FROM documents d WHERE \(condition) LIMIT 1").fetchOne(db) != nil
        }
        guard isAny else { return }
        let (sequence, era) = try await database.write { [self] db in
            var writer = try DocumentWriter(db, self, .administrator)
            let due = SQLRequest<Row>(
                literal: """
                    SELECT d.id, d.key, r.revision FROM documents d JOIN revisions r ON r.key = d.winner
                    WHERE \(condition)
                    """)
            for row in try due.fetchAll(db) {
                let edit = DocumentEdit(id: row[0], document: .tombstone(of: row[2]), kind: .newEdit)
                do { _ = try writer.write(edit) } catch is RequestError {
                    // The sync function refuses the deletion, so the document stays.
                    try db.execute(
                        sql: "UPDATE documents SET expires = NULL WHERE key = ?", arguments: [row[1] as Int64])
                }
            }
            let sequence = try writer.finish()
            nextExpiry.set(try Self.nextExpiry(of: collection, db))
            return (sequence, signal.era)
        }
        signal.advance(to: sequence, in: era)
    }

    static func nextExpiry(of collection: Int64, _ db: Database) throws -> Int? {
        try Int.fetchOne(
            db, sql: "SELECT min(expires) FROM documents WHERE expires IS NOT NULL AND collection = \(collection)")
    }

    /// When a document expires, in seconds since 1970.
    func expiry(of id: String) throws -> Int? {
        try read { db in
            try Int.fetchOne(
                db, sql: "SELECT expires FROM documents WHERE collection = \(collection) AND id = ?", arguments: [id])
        }
    }
}
