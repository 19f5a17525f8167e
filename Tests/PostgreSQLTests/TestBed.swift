import PostgreSQL
import TestKit

/// A separate schema on the shared server.
struct TestBed {
    let server: TestPostgres
    let address: PostgresAddress
    var settings = PostgresSettings()

    /// - Parameter server: Nil: the shared server.
    init(_ server: TestPostgres? = nil, deadline: Duration = .seconds(10)) throws {
        self.server = try server ?? TestPostgres.shared
        address = try PostgresAddress(self.server.url())
        settings.schema = self.server.uniqueName("My \"Schema\" \\")
        settings.deadline = deadline
    }

    func connect(
        _ address: PostgresAddress? = nil, _ change: (inout PostgresSettings) -> Void = { _ in }
    ) throws -> PostgresConnection {
        var settings = settings
        change(&settings)
        return try PostgresConnection(address ?? self.address, password: nil, settings: settings)
    }

    /// A connection and its empty table `t (id integer primary key, value text)`.
    func withTable() throws -> PostgresConnection {
        let connection = try connect()
        let schema = PostgresConnection.quotedIdentifier(settings.schema ?? "")
        try connection.script("CREATE SCHEMA \(schema); CREATE TABLE t (id integer PRIMARY KEY, value text)")
        return connection
    }

    /// The same server and schema through a relay.
    func address(through relay: TestRelay) throws -> PostgresAddress {
        try PostgresAddress("postgres://postgres@127.0.0.1:\(relay.port)/postgres?sslmode=disable")
    }
}

extension PostgresConnection {
    var count: Int? { get throws { try run("SELECT count(*) FROM t").rows[0][0].int } }
}

extension PostgresError {
    /// Only the case, for comparisons.
    var name: String {
        switch self {
        case .unavailable: "unavailable"
        case .unknownCommit: "unknownCommit"
        case .conflict: "conflict"
        case .full: "full"
        case .refused: "refused"
        case .libraryMissing: "libraryMissing"
        case .badAnswer: "badAnswer"
        }
    }
}
