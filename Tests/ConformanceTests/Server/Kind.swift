/// The kind of server that a case runs against, which determines the known differences.
enum Kind: String, CaseIterable, Sendable {
    case embedded
    case syncGateway4 = "sync-gateway-4"
    case syncGateway3 = "sync-gateway-3"
    case couchDB = "couchdb"

    var isCouchDB: Bool { self == .couchDB }

    /// The value of `CHANGEBOT_TEST_GATEWAY_KIND`, with or without a version. Nil for `sync-gateway` alone: then the
    /// server's version decides.
    init?(setting: String) {
        let setting = setting.lowercased()
        guard let kind = Self.allCases.first(where: { setting.hasPrefix($0.rawValue) }) else { return nil }
        self = kind
    }

    /// Determined from the answer to `GET /` or, if that hides the version, from the `Server` header.
    ///
    /// Sync Gateway has `"version":"Couchbase Sync Gateway/4.1.1(…) CE"`; the embedded gateway adds its own name.
    init?(vendor: String?, version: String?, serverHeader: String?) {
        let texts = [version, serverHeader].compactMap { $0?.lowercased() }
        if vendor == "The Apache Software Foundation" || texts.contains(where: { $0.hasPrefix("couchdb") }) {
            self = .couchDB
        } else if texts.contains(where: { $0.contains("changebot embedded") }) {
            self = .embedded
        } else if texts.contains(where: { $0.hasPrefix("couchbase sync gateway/3") }) {
            self = .syncGateway3
        } else if vendor == "Couchbase Sync Gateway" || texts.contains(where: { $0.contains("sync gateway") }) {
            self = .syncGateway4
        } else {
            return nil
        }
    }
}
