/// The result of a statement.
package struct PostgresResult: Sendable, Equatable {
    /// The names of the columns; empty if the statement returns no rows.
    package let columns: [String]
    /// A value for each column.
    package let rows: [[PostgresValue]]
    /// How many rows it inserted, changed, deleted or returned.
    package let affected: Int
}
