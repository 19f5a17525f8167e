package import Fleet
package import PostgreSQL

/// The tables of a state in PostgreSQL.
///
/// A leading member writes only while it leads: each transaction locks the row of its lease, and is rolled back if
/// another member has the lease by then.
package final class EngineStore: StateStore {
    private let engine: Engine
    private let work: PostgresQueue
    /// For read-only users, so that they do not wait for the run's writes.
    private let view: PostgresQueue
    /// Ensures, until the transaction ends, that this process may write; throws if it may not.
    package typealias Fence = @Sendable (PostgresConnection) throws -> Void

    /// Nil: the writer needs none, for example a command next to a run.
    private let fence: Fence?

    package var dialect: SQLDialect { .postgres }

    /// - Parameter fence: Called first in each transaction that writes. Nil: writes need no permission.
    init(_ engine: Engine, fence: Fence?) {
        self.engine = engine
        self.fence = fence
        work = engine.makeQueue()
        // The pool's threads are also needed by the rest of the process.
        view = engine.makeQueue(deadline: min(.seconds(10), engine.lease))
    }

    package func read<Value>(_ body: (any StateSession) throws -> Value) throws -> Value {
        try view.performNow { connection in
            try connection.transaction(readOnly: true) { try body(PostgresSession(connection: $0)) }
        }
    }

    package func read<Value: Sendable>(
        _ body: @escaping @Sendable (any StateSession) throws -> Value
    ) async throws -> Value {
        try await work.perform { connection in
            try connection.transaction(readOnly: true) { try body(PostgresSession(connection: $0)) }
        }
    }

    package func write<Value: Sendable>(
        _ body: @escaping @Sendable (any StateSession) throws -> Value
    ) async throws -> Value {
        try await work.perform { [fence] in try Self.write($0, fence, body) }
    }

    package func writeNow<Value>(_ body: (any StateSession) throws -> Value) throws -> Value {
        try work.performNow { try Self.write($0, fence, body) }
    }

    private static func write<Value>(
        _ connection: PostgresConnection, _ fence: Fence?,
        _ body: (any StateSession) throws -> Value
    ) throws -> Value {
        var attemptsLeft = maxAttempts
        while true {
            do {
                return try connection.transaction { connection in
                    try fence?(connection)
                    return try body(PostgresSession(connection: connection))
                }
            } catch let error as PostgresError where attemptsLeft > 1 && isConcurrentWriteConflict(error) {
                attemptsLeft -= 1
            }
        }
    }

    /// Whether another member's transaction caused the error: it wrote the same rows, or inserted a row with the same
    /// key after this one had checked. The next attempt sees these rows.
    private static func isConcurrentWriteConflict(_ error: PostgresError) -> Bool {
        if case .conflict = error { return true }
        return error.sqlState == uniqueViolation
    }

    private static let uniqueViolation = "23505"
    /// The maximum number of attempts: when several members start at once, each may conflict with another several
    /// times.
    private static let maxAttempts = 10

    package func error(_ purpose: StatePurpose, _ error: any Error) -> StateError { .engine(engine, purpose, error) }

    package func close() {
        work.close()
        view.close()
    }
}

/// A transaction of PostgreSQL.
package struct PostgresSession: StateSession {
    let connection: PostgresConnection

    package init(connection: PostgresConnection) {
        self.connection = connection
    }

    package var dialect: SQLDialect { .postgres }

    package func rows(_ sql: String, _ values: [(any StateArgument)?]) throws -> [StateRow] {
        Self.rows(try connection.run(Self.numbered(sql), Self.values(values)))
    }

    package func rowsForEach(_ sql: String, _ lists: [[(any StateArgument)?]]) throws -> [[StateRow]] {
        guard !lists.isEmpty else { return [] }
        return try connection.runEach(Self.numbered(sql), lists.map(Self.values)).map(Self.rows)
    }

    package func forEachRow(
        _ sql: String, _ values: [(any StateArgument)?], _ body: (StateRow) throws -> Bool
    ) throws {
        for row in try rows(sql, values) { guard try body(row) else { return } }
    }

    @discardableResult
    package func execute(_ sql: String, _ values: [(any StateArgument)?]) throws -> Int {
        try connection.run(Self.numbered(sql), Self.values(values)).affected
    }

    @discardableResult
    package func executeEach(_ sql: String, _ lists: [[(any StateArgument)?]]) throws -> Int {
        guard !lists.isEmpty else { return 0 }
        return try connection.runEach(Self.numbered(sql), lists.map(Self.values)).reduce(0) { $0 + $1.affected }
    }

    // MARK: - Between the two

    /// Rewrites SQLite's `?` and `?1` as `$1`. No statement of the ledger has a question mark in a string.
    static func numbered(_ sql: String) -> String {
        guard sql.utf8.contains(UInt8(ascii: "?")) else { return sql }
        var text = ""
        var count = 0
        var rest = sql[...]
        while let place = rest.firstIndex(of: "?") {
            text += rest[..<place]
            rest = rest[rest.index(after: place)...]
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            count += 1
            text += digits.isEmpty ? "$\(count)" : "$\(digits)"
            rest = rest.dropFirst(digits.count)
        }
        return text + rest
    }

    private static func values(_ values: [(any StateArgument)?]) -> [PostgresValue] {
        values.map { value in
            switch value?.stateValue ?? .null {
            case .null: .null
            case .int(let number): .int(number)
            case .text(let text): .text(text)
            case .bytes(let bytes): .bytes(bytes)
            }
        }
    }

    private static func rows(_ result: PostgresResult) -> [StateRow] {
        result.rows.map { row in StateRow(values: row.map(value), columns: result.columns) }
    }

    private static func value(_ value: PostgresValue) -> StateValue {
        switch value {
        case .null: .null
        case .int(let number): .int(number)
        case .text(let text): .text(text)
        case .bytes(let bytes): .bytes(bytes)
        case .double(let number): .text("\(number)")
        }
    }
}

extension StateError {
    /// What an error of the engine means.
    ///
    /// - Parameter place: The accessed object. Nil: the fleet.
    package static func engine(
        _ engine: Engine, _ purpose: StatePurpose, _ error: any Error, place: String? = nil
    ) -> StateError {
        let place = place ?? engine.description
        if let error = error as? StateError { return error }
        if let error = error as? WorkLogError { return StateError(engine, error) }
        if let error = error as? SupersededSchema { return .engineRefused(path: place, reason: "\(error)") }
        // For example, the password file can't be read.
        guard let error = error as? PostgresError else {
            return .engineRefused(path: place, reason: "\(error)")
        }
        switch error {
        case .unavailable, .unknownCommit, .conflict, .full:
            return .engineUnavailable("\(place): \(error)")
        case .refused where error.sqlState == "42501":
            return .cannotCreate(
                path: place,
                reason: "\(error); the user needs access, and must own the schema or be allowed to create it: "
                    + "GRANT CONNECT, CREATE ON DATABASE \(PostgresConnection.quotedIdentifier(engine.address.database)) TO the user"
            )
        case .refused where error.isRecoverable: return .engineRefused(path: place, reason: "\(error)")
        case .refused, .badAnswer, .libraryMissing:
            return purpose == .writing
                ? .cannotWrite(path: place, reason: "\(error)")
                : .unreadable(path: place, reason: "\(error)")
        }
    }
}

extension StateError {
    package init(_ engine: Engine, _ error: WorkLogError) {
        self =
            switch error {
            case .fenced(let reason): .fenced(reason)
            case .refused(WorkLogError.membershipIsOver): .fenced(WorkLogError.membershipIsOver)
            case .unavailable(let reason), .unknownCommit(let reason):
                .engineUnavailable("\(engine.description): \(reason)")
            case .refused(let reason): .unreadable(path: engine.description, reason: reason)
            }
    }
}
