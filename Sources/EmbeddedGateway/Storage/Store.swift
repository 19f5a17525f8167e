internal import Foundation
internal import GRDB

/// The documents of one database, in a file or in memory.
///
/// Each call is one transaction. In a file readers and the writer do not wait for each other (write-ahead log). An
/// acknowledged write survives the death of the process at any instant: the log is in the kernel's hands before the
/// answer leaves. A power cut may cost the last moments (`synchronous=NORMAL`), never the file; one `fsync` per write
/// would cost most of the speed and buy little in a gateway for development.
///
/// - Note: Source: sqlite.org/pragma.html#pragma_synchronous, sqlite.org/wal.html.
final class Store: Sendable {
    /// The sequence of GUEST, which the real gateway gives out before the first document's.
    static let guestSequence = 1

    let database: any DatabaseWriter
    /// Where the changes feed hears of commits.
    let signal: ChangeSignal
    let rules: WritingRules

    /// - Throws: GRDB's `DatabaseError` if the file can't be opened or is no database.
    init(_ storage: EmbeddedGateway.Storage, rules: WritingRules = WritingRules()) throws {
        self.rules = rules
        var configuration = Configuration()
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { db in
            try db.execute(sql: "PRAGMA synchronous = NORMAL; PRAGMA cache_size = -8000")
        }
        switch storage {
        case .memory: database = try DatabaseQueue(configuration: configuration)
        case .file(let path): database = try DatabasePool(path: path, configuration: configuration)
        }
        try Schema.migrator.migrate(database)
        let sequence = try database.read { db in try Self.lastSequence(db) }
        signal = ChangeSignal(lastSequence: sequence)
    }

    /// Ends the connections to the file. Later calls throw.
    func close() throws { try database.close() }

    /// The highest sequence that was given out.
    static func lastSequence(_ db: Database) throws -> Int {
        let statement = try db.cachedStatement(sql: "SELECT value FROM counters WHERE name = 'sequence'")
        return try Int.fetchOne(statement) ?? guestSequence
    }

    func lastSequence() async throws -> Int { try await database.read { db in try Self.lastSequence(db) } }
}
