internal import FoundationEssentials
internal import GRDB

/// Checks a database file before anything is written to it.
///
/// Without this check, a gateway would add its tables to any SQLite database.
struct DatabaseFile {
    /// The file is not a gateway's database.
    struct NotAGatewayDatabase: Error, CustomStringConvertible {
        let description: String
    }

    private static let tablesShown = 5

    let path: String

    var exists: Bool { FileManager.default.fileExists(atPath: path) }

    /// - Throws: ``NotAGatewayDatabase``; GRDB's `DatabaseError` if the file can't be read.
    func check() throws {
        guard exists else { return try checkFolder() }
        var isFolder = false
        _ = FileManager.default.fileExists(atPath: path, isDirectory: &isFolder)
        if isFolder { throw NotAGatewayDatabase(description: "it is a folder") }
        do { try checkTables() } catch let error as DatabaseError where error.resultCode == .SQLITE_NOTADB {
            throw NotAGatewayDatabase(description: "it is not an SQLite database; correct the path")
        }
    }

    private func checkFolder() throws {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard FileManager.default.fileExists(atPath: folder) else { throw MissingFolder(path: folder) }
    }

    private func checkTables() throws {
        var configuration = Configuration()
        configuration.readonly = true
        let database = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? database.close() }
        try database.read { db in
            let tables = try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'
                        AND name <> 'grdb_migrations' ORDER BY name
                    """)
            guard !tables.isEmpty else { return }
            let migrations = try Schema.migrator.appliedIdentifiers(db)
            guard migrations.contains(Schema.firstMigration) else {
                let names = tables.prefix(Self.tablesShown).joined(separator: ", ")
                throw NotAGatewayDatabase(
                    description: "it belongs to another program: its tables are "
                        + (tables.count > Self.tablesShown ? names + ", …" : names))
            }
            if try Schema.migrator.hasBeenSuperseded(db) {
                throw NotAGatewayDatabase(description: "a newer changebot wrote it; use that one")
            }
        }
    }

    private struct MissingFolder: Error, CustomStringConvertible {
        let path: String

        var description: String { "there is no folder \(path); create it, or correct the path" }
    }
}
