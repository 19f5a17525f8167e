/// Which of the two servers answers.
public enum GatewayDialect: String, Sendable, CaseIterable {
    case syncGateway = "sync-gateway"
    case couchDB = "couchdb"

    /// From the `Server` header of any answer: `Couchbase Sync Gateway/4.1.1 CE`, `CouchDB/3.5.0 (Erlang OTP/25)`.
    ///
    /// Nil where a proxy has put its own name there.
    init?(serverHeader: String?) {
        guard let header = serverHeader?.lowercased() else { return nil }
        if header.hasPrefix("couchbase sync gateway") {
            self = .syncGateway
        } else if header.hasPrefix("couchdb") {
            self = .couchDB
        } else {
            return nil
        }
    }

    /// From the vendor that `GET /` names. Both say `"couchdb":"Welcome"`.
    init?(vendor: String?) {
        switch vendor {
        case "Couchbase Sync Gateway": self = .syncGateway
        case "The Apache Software Foundation": self = .couchDB
        default: return nil
        }
    }
}
