internal import FoundationEssentials
package import GRDB

/// The tables of a state in a file of SQLite.
package struct SQLiteStore: StateStore {
    let database: DatabaseQueue
    /// For messages.
    let path: String

    package init(database: DatabaseQueue, path: String) { (self.database, self.path) = (database, path) }

    package var dialect: SQLDialect { .sqlite }

    package func read<Value>(_ body: (any StateSession) throws -> Value) throws -> Value {
        try database.read { try body(SQLiteSession(database: $0)) }
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any StateSession) throws -> Value
    ) async throws -> Value { try await database.read { try body(SQLiteSession(database: $0)) } }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any StateSession) throws -> Value
    ) async throws -> Value { try await database.write { try body(SQLiteSession(database: $0)) } }

    package func writeNow<Value>(_ body: (any StateSession) throws -> Value) throws -> Value {
        try database.write { try body(SQLiteSession(database: $0)) }
    }

    package func error(_ purpose: StatePurpose, _ error: any Error) -> StateError {
        switch purpose {
        case .creating: .creating(path, error)
        case .reading: .reading(path, error)
        case .writing: .writing(path, error)
        }
    }

    package func close() { try? database.close() }
}

// MARK: - Tables

extension SQLiteStore {
    /// Creates the tables in a new file, and adds those that an older file does not have. Several processes may do so at
    /// the same time.
    ///
    /// - Throws: ``SupersededSchema`` if there are other tables; errors of SQLite.
    package static func prepare(_ database: DatabaseQueue) throws {
        guard try !database.read(isPrepared) else { return }
        try database.write { database in
            switch try version(database) {
            case nil: try database.execute(sql: Schema.script(.sqlite))
            case Schema.version?: break
            case let earlier?: try database.execute(sql: Schema.script(.sqlite, upgradingFrom: earlier))
            }
        }
    }

    /// Whether the file has all tables. This is the only such check.
    ///
    /// - Throws: As ``prepare(_:)``.
    static func isPrepared(_ database: Database) throws -> Bool { try version(database) == Schema.version }

    /// The version of the tables, which are created in one transaction. Nil: there are none.
    private static func version(_ database: Database) throws -> Int? {
        guard try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master)") == true else {
            return nil
        }
        do { return try Schema.check(SQLiteSession(database: database), .file) } catch let error as DatabaseError
            where error.resultCode == .SQLITE_ERROR
        {
            // There is no table `identity`, or a different one.
            throw SupersededSchema(version: nil, program: nil, place: .file)
        }
    }
}

/// A transaction of SQLite. Statements are prepared once and kept.
struct SQLiteSession: StateSession {
    let database: Database

    var dialect: SQLDialect { .sqlite }

    func rows(_ sql: String, _ values: [(any StateArgument)?]) throws -> [StateRow] {
        var rows: [StateRow] = []
        try forEachRow(sql, values) { row in
            rows.append(row)
            return true
        }
        return rows
    }

    func rowsForEach(_ sql: String, _ lists: [[(any StateArgument)?]]) throws -> [[StateRow]] {
        try lists.map { try rows(sql, $0) }
    }

    func forEachRow(
        _ sql: String, _ values: [(any StateArgument)?], _ body: (StateRow) throws -> Bool
    ) throws {
        let statement = try database.cachedStatement(sql: sql)
        let columns = statement.columnNames
        let found = try Row.fetchCursor(statement, arguments: Self.arguments(values))
        while let row = try found.next() {
            let values = Array(row.databaseValues.map { StateValue($0) })
            guard try body(StateRow(values: values, columns: columns)) else { return }
        }
    }

    @discardableResult
    func execute(_ sql: String, _ values: [(any StateArgument)?]) throws -> Int {
        try database.cachedStatement(sql: sql).execute(arguments: Self.arguments(values))
        return database.changesCount
    }

    @discardableResult
    func executeEach(_ sql: String, _ lists: [[(any StateArgument)?]]) throws -> Int {
        guard !lists.isEmpty else { return 0 }
        let statement = try database.cachedStatement(sql: sql)
        var changed = 0
        for list in lists {
            try statement.execute(arguments: Self.arguments(list))
            changed += database.changesCount
        }
        return changed
    }

    private static func arguments(_ values: [(any StateArgument)?]) -> StatementArguments {
        StatementArguments(values.map { ($0?.stateValue ?? .null).databaseValue })
    }
}

extension StateValue {
    fileprivate init(_ value: DatabaseValue) {
        self =
            switch value.storage {
            case .null: .null
            case .int64(let number): .int(Int(number))
            case .double(let number): .text("\(number)")
            case .string(let text): .text(text)
            case .blob(let data): .bytes(Array(data))
            }
    }

    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .int(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .bytes(let bytes): Data(bytes).databaseValue
        }
    }
}
