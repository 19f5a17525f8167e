internal import CPostgreSQL

/// libpq, which is loaded at the first access and stays loaded.
enum PostgresLibrary {
    // Written once, by the initializer below, before it is read.
    nonisolated(unsafe) private static var table = cpostgresql_functions()
    private static let failure = cpostgresql_load(&table).map { String(cString: $0) }

    /// - Throws: ``PostgresError/libraryMissing(reason:)``.
    static func functions() throws(PostgresError) -> cpostgresql_functions {
        if let failure { throw .libraryMissing(reason: PostgresError.line(failure)) }
        return table
    }
}
