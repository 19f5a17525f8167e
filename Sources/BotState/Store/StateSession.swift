/// A transaction on the tables of a state. Valid only while it runs, on one thread.
///
/// Statements use SQL that both SQLite and PostgreSQL understand: `?` and `?1` for values, `ON CONFLICT` and
/// `RETURNING`. ``dialect`` covers the differences.
package protocol StateSession {
    var dialect: SQLDialect { get }

    /// All rows that a statement returns.
    func rows(_ sql: String, _ values: [(any StateArgument)?]) throws -> [StateRow]

    /// The same for each list of values. One round trip for all.
    func rowsForEach(_ sql: String, _ lists: [[(any StateArgument)?]]) throws -> [[StateRow]]

    /// Calls `body` with each row, until it returns false.
    func forEachRow(_ sql: String, _ values: [(any StateArgument)?], _ body: (StateRow) throws -> Bool) throws

    /// - Returns: How many rows the statement changed.
    @discardableResult
    func execute(_ sql: String, _ values: [(any StateArgument)?]) throws -> Int

    /// The same for each list of values, in order. One round trip for all.
    ///
    /// - Returns: How many rows were changed in all.
    @discardableResult
    func executeEach(_ sql: String, _ lists: [[(any StateArgument)?]]) throws -> Int
}

extension StateSession {
    func rows(_ sql: String) throws -> [StateRow] { try rows(sql, []) }

    @discardableResult
    package func execute(_ sql: String) throws -> Int { try execute(sql, []) }

    /// The first column of all rows.
    func values<Value: StateColumn>(
        _ type: Value.Type = Value.self, _ sql: String, _ values: [(any StateArgument)?] = []
    ) throws -> [Value] { try rows(sql, values).map { $0[0] } }

    /// The first column of the first row; nil if there is no row or the value is null.
    func value<Value: StateColumn>(
        _ type: Value.Type = Value.self, _ sql: String, _ values: [(any StateArgument)?] = []
    ) throws -> Value? {
        guard let row = try rows(sql, values).first else { return nil }
        return row[0] as Value?
    }
}

extension StateSession {
    /// Call this before counts are read in order to change them.
    func lockCounts() throws {
        if let lock = dialect.countsLock { _ = try rows(lock) }
    }
}

/// The SQL in which SQLite and PostgreSQL differ.
package enum SQLDialect: Sendable {
    case sqlite
    case postgres

    /// `INSERT` that replaces the row with the same key. In tables whose rows have an order, by `rowid`, the row becomes
    /// the newest.
    func replace(
        into table: String, _ columns: [String], key: [String], isOrdered: Bool = false
    ) -> String {
        let list = columns.joined(separator: ", ")
        let values = columns.map { _ in "?" }.joined(separator: ", ")
        switch self {
        case .sqlite: return "INSERT OR REPLACE INTO \(table) (\(list)) VALUES (\(values))"
        case .postgres:
            var changes = columns.filter { !key.contains($0) }.map { "\($0) = excluded.\($0)" }
            if isOrdered { changes.append("rowid = DEFAULT") }
            let conflict = "ON CONFLICT (\(key.joined(separator: ", ")))"
            return "INSERT INTO \(table) (\(list)) VALUES (\(values)) \(conflict) DO UPDATE SET "
                + changes.joined(separator: ", ")
        }
    }

    /// Whether `part` is in `column`; both are bytes.
    func contains(_ column: String, _ part: String) -> String {
        switch self {
        case .sqlite: "INSTR(\(column), \(part)) > 0"
        case .postgres: "position(\(part) IN \(column)) > 0"
        }
    }

    /// How to read a list of lists as a table. Its single `?` takes JSON.
    var listed: (rows: String, place: String, element: (Int) -> String) {
        switch self {
        case .sqlite: ("json_each(?) AS listed", "listed.key", { "json_extract(listed.value, '$[\($0)]')" })
        case .postgres:
            (
                "json_array_elements(CAST(? AS json)) WITH ORDINALITY AS listed (value, place)",
                "(listed.place - 1)", { "(listed.value ->> \($0))" }
            )
        }
    }

    /// A statement that prevents others from changing counts until the transaction ends, so that two transactions never
    /// add to the same old total. Nil: only one transaction writes at a time anyway.
    fileprivate var countsLock: String? {
        switch self {
        case .sqlite: nil
        case .postgres: "SELECT pg_advisory_xact_lock(hashtextextended(current_setting('search_path'), 2))"
        }
    }

    /// The seconds since 1970 by a clock that all processes share.
    var now: String {
        self == .sqlite ? "CAST(strftime('%s', 'now') AS INTEGER)" : "EXTRACT(EPOCH FROM clock_timestamp())"
    }

    /// Whether a column with a time is later than this number of seconds ago, by a clock that all processes share.
    func isLater(_ column: String, thanSecondsAgo seconds: String) -> String {
        self == .sqlite
            ? "(\(column) > \(now) - \(seconds))"
            : "(\(column) > clock_timestamp() - CAST(\(seconds) AS bigint) * interval '1 second')"
    }

    /// Whether a row is among some rows of the same table.
    func isRow(among rows: (_ key: String) -> String, key: String) -> String {
        self == .sqlite ? "(\(key)) IN (\(rows(key)))" : "ctid = ANY (ARRAY(\(rows("ctid"))))"
    }

    /// A statement that lets one member at a time change the comparing rules. Nil: only one transaction writes at a time
    /// anyway.
    var comparingRulesLock: String? {
        self == .sqlite ? nil : "SELECT pg_advisory_xact_lock(hashtextextended(current_setting('search_path'), 4))"
    }

    /// The smaller one of two values.
    func least(_ first: String, _ second: String) -> String {
        self == .sqlite ? "MIN(\(first), \(second))" : "LEAST(\(first), \(second))"
    }

    /// The greater one of two values.
    func greatest(_ first: String, _ second: String) -> String {
        self == .sqlite ? "MAX(\(first), \(second))" : "GREATEST(\(first), \(second))"
    }
}
