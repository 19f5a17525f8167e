/// Which server it is. Every difference between them is a property here, so that a new case must define each. One
/// exception, for imports: `VersionMembers.accepted(by:)` of the target `Transfer` has a switch of its own.
public enum GatewayDialect: String, Sendable, CaseIterable {
    case syncGateway = "sync-gateway"
    case couchDB = "couchdb"

    /// From the `Server` header of any answer: `Couchbase Sync Gateway/4.1.1 CE`, `CouchDB/3.5.0 (Erlang OTP/25)`.
    ///
    /// Nil where a proxy has put its own name there.
    package init?(serverHeader: String?) {
        guard let header = serverHeader?.lowercased() else { return nil }
        guard let dialect = Self.allCases.first(where: { header.hasPrefix($0.serverHeader) }) else { return nil }
        self = dialect
    }

    /// From the vendor that `GET /` names. Both say `"couchdb":"Welcome"`.
    init?(vendor: String?) {
        guard let dialect = Self.allCases.first(where: { $0.vendor == vendor }) else { return nil }
        self = dialect
    }
}
