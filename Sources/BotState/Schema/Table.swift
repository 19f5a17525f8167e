/// The definition of a table of a state, for SQLite and PostgreSQL.
package struct Table: Sendable {
    let name: String
    let columns: [Column]
    /// The columns that identify a row. In a table with numbered rows, they are an additional unique key.
    let key: [String]
    let indexes: [Index]
    /// Storage parameters of PostgreSQL.
    let storage: String
    /// The first version of the tables that has it. A state of an earlier version gets it when it is opened.
    let since: Int

    init(
        _ name: String, key: [String] = [], since: Int = 1, _ columns: [Column], indexes: [Index] = [],
        storage: String = ""
    ) {
        (self.name, self.key, self.columns, self.indexes, self.storage) = (name, key, columns, indexes, storage)
        self.since = since
    }

    /// Text and bytes are ordered by their bytes. Times exist in PostgreSQL only.
    struct Column: Sendable {
        enum Kind: Sendable {
            /// Increases with every row, and is never reused.
            case number
            /// Increases with every row; the newest rows have the highest.
            case rowid
            case int, small, bool, text, bytes, time
        }

        let name: String
        let kind: Kind
        let isNullable: Bool
        /// SQL; nil: each row must set a value.
        let initial: String?
    }

    struct Index: Sendable {
        let columns: [String]
        /// SQL: a condition on the rows; nil: all rows.
        let condition: String?

        static func on(_ columns: String..., where condition: String? = nil) -> Self {
            Self(columns: columns, condition: condition)
        }
    }
}

extension Table.Column {
    static let rowid = column("rowid", .rowid)
    static func number(_ name: String) -> Self { column(name, .number) }
    static func int(_ name: String, null: Bool = false, initial: String? = nil) -> Self {
        column(name, .int, null, initial)
    }
    static func small(_ name: String) -> Self { column(name, .small) }
    static func bool(_ name: String, initial: String? = nil) -> Self { column(name, .bool, false, initial) }
    /// U+0000 ends a text in both databases, so values that may contain it are stored as bytes.
    static func text(_ name: String, null: Bool = false, initial: String? = nil) -> Self {
        column(name, .text, null, initial)
    }
    static func bytes(_ name: String, null: Bool = false) -> Self { column(name, .bytes, null) }
    static func time(_ name: String, initial: String? = nil) -> Self { column(name, .time, false, initial) }

    private static func column(
        _ name: String, _ kind: Kind, _ isNullable: Bool = false, _ initial: String? = nil
    ) -> Self {
        Self(name: name, kind: kind, isNullable: isNullable, initial: initial)
    }
}

// MARK: - SQL

extension Table {
    /// The statements that create the table and its indexes, each with a semicolon.
    func script(_ dialect: SQLDialect) -> String {
        ([table(dialect)] + indexes.map { sql($0, dialect) }).map { $0 + ";\n" }.joined()
    }

    private var isNumbered: Bool { columns.contains { $0.kind == .number || $0.kind == .rowid } }

    private func table(_ dialect: SQLDialect) -> String {
        var parts = columns.map { $0.sql(dialect) }
        if !key.isEmpty { parts.append("\(isNumbered ? "UNIQUE" : "PRIMARY KEY") (\(Self.list(key)))") }
        let body = "CREATE TABLE \(name) (\(parts.joined(separator: ", ")))"
        return switch dialect {
        // The rows are stored in the index of the key.
        case .sqlite: isNumbered ? body : body + " WITHOUT ROWID"
        case .postgres: storage.isEmpty ? body : body + " WITH (\(storage))"
        }
    }

    private func sql(_ index: Index, _ dialect: SQLDialect) -> String {
        // Every SQLite index ends with the rowid; if it were listed, it would be stored twice.
        let columns = index.columns.filter { dialect == .postgres || $0 != Column.rowid.name }
        let condition = index.condition.map { " WHERE \($0)" } ?? ""
        return "CREATE INDEX \(name)_\(index.columns[0]) ON \(name) (\(Self.list(columns)))\(condition)"
    }

    private static func list(_ columns: [String]) -> String { columns.joined(separator: ", ") }
}

extension Table.Column {
    fileprivate func sql(_ dialect: SQLDialect) -> String {
        let type = dialect == .sqlite ? kind.sqliteType : kind.postgresType
        let isKey = kind == .number || kind == .rowid
        return "\(name) \(type)" + (isNullable || isKey ? "" : " NOT NULL") + (initial.map { " DEFAULT \($0)" } ?? "")
    }
}

extension Table.Column.Kind {
    fileprivate var sqliteType: String {
        switch self {
        case .number: "INTEGER PRIMARY KEY AUTOINCREMENT"
        case .rowid: "INTEGER PRIMARY KEY"
        case .int, .small, .bool: "INTEGER"
        case .text, .time: "TEXT"
        case .bytes: "BLOB"
        }
    }

    /// The collation "C" orders by bytes. Unlike others, it does not change with updates of the operating system.
    fileprivate var postgresType: String {
        switch self {
        case .number, .rowid: "bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        case .int: "bigint"
        case .small: "smallint"
        case .bool: "boolean"
        case .text: "text COLLATE \"C\""
        case .bytes: "bytea"
        case .time: "timestamptz"
        }
    }
}
