import Foundation
import GRDB
import GatewayClient
import PostgreSQL
import TestKit

@testable import BotState

/// A state for tests.
struct LedgerTestBed {
    let directory: String
    /// Holds the state instead of a file. Nil: the state is in a file.
    var engine: Engine?

    var databasePath: String { directory + "/bot.sqlite" }

    func open(
        name: String = "bot", gateway: String = "http://a:1/todo", rules: String = "r1"
    ) throws(StateError) -> Ledger {
        if let engine {
            return try EngineState.openForRun(engine, directory: directory, gateway, .inaccessible, ruleSetHash: rules)
                .ledger
        }
        let files = files(name)
        try files.createDirectory()
        return try Ledger(files, at: StateFacts.Address(url: gateway, used: 1), ruleSetHash: rules)
    }

    /// Opens the existing state; nil if there is none.
    func openExisting(_ access: Ledger.Access, rules: String = "") throws(StateError) -> Ledger? {
        try Ledger(existing: files(), ruleSetHash: rules, access: access)
    }

    /// Opens a copy of the state, which must exist, for a dry run.
    func preview() throws -> Ledger {
        try Ledger(readOnly: files(), ReadOnlyState.copy(files()), ruleSetHash: "r1")
    }

    /// The files of the folder, except SQLite's shared memory, which changes with each reader.
    func contents() throws -> [String: Data] {
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { !$0.hasSuffix("-shm") }
        let contents = names.map { ($0, FileManager.default.contents(atPath: directory + "/" + $0) ?? Data()) }
        return Dictionary(uniqueKeysWithValues: contents)
    }

    /// The run that holds the state; nil if none does.
    var holder: String? { StateLock.holder(path: files().lock) }

    func files(_ name: String = "bot") -> StateFiles { StateFiles(directory: directory, name: name) }

    /// Opens the state, and closes it after `body`, even if a task that has just ended still references the ledger.
    @discardableResult
    func using<Result>(rules: String = "r1", _ body: (Ledger) async throws -> Result) async throws -> Result {
        let ledger = try open(rules: rules)
        defer { ledger.close() }
        return try await body(ledger)
    }

    /// Calls `body` once with a file and once with an engine.
    static func withLedgers(_ body: (LedgerTestBed, Ledger) async throws -> Void) async throws {
        try await withLedger(body)
        let server = try TestPostgres.shared
        try await withTemporaryDirectory { directory in
            let engine = Engine(try PostgresAddress(server.url()), fleet: server.uniqueName("ledger"))
            let bed = LedgerTestBed(directory: directory, engine: engine)
            try await bed.using { try await body(bed, $0) }
        }
    }

    static func withLedger<Result>(_ body: (LedgerTestBed, Ledger) async throws -> Result) async throws -> Result {
        try await withTemporaryDirectory { directory in
            let bed = LedgerTestBed(directory: directory)
            return try await bed.using { try await body(bed, $0) }
        }
    }
}

extension LedgerTestBed {
    /// Makes a state in the form before the first release, and opens it like a run of that time.
    func makeOldForm() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL") }
        let database = try DatabaseQueue(path: databasePath, configuration: configuration)
        try database.writeWithoutTransaction { database in
            try database.execute(
                sql: """
                    CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                    INSERT INTO grdb_migrations VALUES ('1'), ('9');
                    CREATE TABLE identity (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                    INSERT INTO identity VALUES ('database', 'a');
                    PRAGMA user_version = 1000;
                    """)
        }
        return database
    }

    /// Changes the tables of a state that is not open.
    func change(_ sql: String) throws {
        let file = try DatabaseQueue(path: databasePath)
        try file.writeWithoutTransaction { try $0.execute(sql: sql) }
        try file.close()
    }
}

/// Stores single parts of a record.
extension Ledger {
    func recordOwnWrites(_ writes: [OwnWrite]) async throws { try await store(Record(ownWrites: writes)) }

    func setTimes(_ documents: [TimedDocument]) async throws {
        try await store(Record(times: TimeChanges(documents: documents)))
    }

    func addTimes(_ documents: [TimedDocument]) async throws {
        try await store(Record(times: TimeChanges(documents: documents, kind: .added)))
    }

    func dropTimers(of documents: [DocumentID], dueBy now: Int) async throws {
        try await store(Record(times: TimeChanges(failed: documents, now: now)))
    }

    func forgetInterruptions(of documents: [DocumentID]) async throws {
        try await store(Record(survivedDocuments: documents))
    }
}
