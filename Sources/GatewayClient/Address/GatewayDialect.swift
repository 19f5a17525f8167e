internal import LosslessJSON

/// The kind of server. Every difference between servers is a property here, so that a new case must define each one.
/// One exception, for imports: `VersionMembers.accepted(by:)` in the target `Transfer` switches over it, too.
public enum GatewayDialect: String, Sendable, CaseIterable {
    case syncGateway = "sync-gateway"
    case couchDB = "couchdb"

    /// From the `Server` header of any answer: `Couchbase Sync Gateway/4.1.1 CE`, `CouchDB/3.5.0 (Erlang OTP/25)`.
    ///
    /// Nil if a proxy has replaced the header with its own name.
    package init?(serverHeader: String?) {
        guard let header = serverHeader?.lowercased() else { return nil }
        guard let dialect = Self.allCases.first(where: { header.hasPrefix($0.serverHeader) }) else { return nil }
        self = dialect
    }

    /// From the answer to `GET /`. Both servers say `"couchdb":"Welcome"`, and a CouchDB can be configured with another
    /// vendor.
    ///
    /// Nil if the answer matches neither server.
    init?(greeting: SmallJSON) {
        let vendor = greeting["vendor"]?["name"]?.string
        let found = Self.allCases.first { $0.vendor == vendor } ?? Self.allCases.first { $0.matchesGreeting(greeting) }
        guard let found else { return nil }
        self = found
    }

    /// From the answer to `GET /{db}/`, for servers whose root page a proxy hides. Nil if it matches neither server.
    init?(information: SmallJSON) {
        guard let found = Self.allCases.first(where: { $0.matchesDatabaseInfo(information) }) else { return nil }
        self = found
    }
}
