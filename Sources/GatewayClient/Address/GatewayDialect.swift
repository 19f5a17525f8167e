internal import LosslessJSON

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

    /// From the answer to `GET /`. Both say `"couchdb":"Welcome"`, and whoever runs a CouchDB may name another vendor.
    ///
    /// Nil if the answer is of neither: nothing is guessed.
    init?(greeting: SmallJSON) {
        let vendor = greeting["vendor"]?["name"]?.string
        let found = Self.allCases.first { $0.vendor == vendor } ?? Self.allCases.first { $0.sent(greeting) }
        guard let found else { return nil }
        self = found
    }

    /// From the answer to `GET /{db}/`, for servers whose root page a proxy hides. Nil if the answer is of neither.
    init?(information: SmallJSON) {
        guard let found = Self.allCases.first(where: { $0.described(information) }) else { return nil }
        self = found
    }
}
