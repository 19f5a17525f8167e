internal import LosslessJSON

// How the servers differ in requests, answers and feeds.
extension GatewayDialect {
    /// The server's name in messages.
    package var name: String {
        switch self {
        case .syncGateway: "Sync Gateway"
        case .couchDB: "CouchDB"
        }
    }

    /// How the `Server` header of its answers begins, in lowercase.
    var serverHeader: String {
        switch self {
        case .syncGateway: "couchbase sync gateway"
        case .couchDB: "couchdb"
        }
    }

    /// Whether `greeting`, the answer to `GET /`, has members or a version that only this server sends.
    ///
    /// - Note: Source: recorded, CouchDB 3.5.0 and Sync Gateway 3.3.7 and 4.1.1. CouchDB has `uuid` since 1.3 and the
    ///   other members since 2.1; `[vendor]` in its configuration can be any name.
    func matchesGreeting(_ greeting: SmallJSON) -> Bool {
        switch self {
        case .syncGateway:
            greeting["version"]?.string?.hasPrefix(vendor) == true || greeting["node_uid"] != nil
                || greeting["persistent_config"] != nil
        case .couchDB: ["features", "git_sha", "uuid"].contains { greeting[$0] != nil }
        }
    }

    /// Whether `information`, the answer to `GET /{db}/`, has members that only this server sends.
    func matchesDatabaseInfo(_ information: SmallJSON) -> Bool {
        switch self {
        case .syncGateway: ["state", "committed_update_seq"].contains { information[$0] != nil }
        case .couchDB: ["sizes", "cluster", "doc_count"].contains { information[$0] != nil }
        }
    }

    /// The vendor that `GET /` names unless it is configured otherwise.
    var vendor: String {
        switch self {
        case .syncGateway: "Couchbase Sync Gateway"
        case .couchDB: "The Apache Software Foundation"
        }
    }

    /// Whether users log in to one database. Otherwise they log in to the whole server.
    var hasSessionPerDatabase: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether it answers 401 without `WWW-Authenticate` if the database does not exist.
    var hidesUnknownDatabases: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether it decodes a document's path twice, unless a slash is escaped in it.
    var decodesPathsTwice: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether documents are in channels, so that a feed can be limited to some of them.
    package var hasChannels: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether the rows of a feed arrive in the order of their sequences. On CouchDB each shard advances on its own.
    package var hasOrderedFeed: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether its feed may briefly lack changes of acknowledged writes, unless a request asks it to wait for them
    /// (Sync Gateway 4.1, `db/change_cache.go`: the feed is filled from the bucket's change feed).
    package var feedLagsBehindWrites: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether it reads the ids of all documents before it starts a page: starting a page then costs as much as
    /// starting the whole list (Sync Gateway 4.1: half a second with 100,000 documents, several seconds under load).
    var readsAllIDsForEachPage: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether a complete list with fewer documents than requested is the end. If the query fails while the list is
    /// sent, Sync Gateway leaves the list open (4.1, `rest/bulk_api.go`). Other servers may have their own limits.
    var shortPageEndsList: Bool {
        switch self {
        case .syncGateway: true
        case .couchDB: false
        }
    }

    /// Whether it finds documents by selectors (`_find`).
    package var findsDocuments: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }

    /// The media type that is requested from `_bulk_get`.
    var bulkGetType: String {
        switch self {
        case .syncGateway: "multipart/mixed"
        case .couchDB: "application/json"
        }
    }

    /// Whether the answer to `"new_edits":false` names only the revisions that failed.
    var omitsStoredRevisions: Bool {
        switch self {
        case .syncGateway: false
        case .couchDB: true
        }
    }
}
