internal import LosslessJSON

/// What `GET /DATABASE/` tells.
public struct DatabaseInfo: Sendable {
    /// What a database takes up, in bytes.
    public struct ByteCounts: Sendable, Equatable {
        /// On disk.
        public let file: Int?
        /// The documents and attachments themselves, uncompressed.
        public let external: Int?
        /// Of `file`, what is in use.
        public let active: Int?
    }

    public let name: String
    /// The feed's newest sequence: a number on Sync Gateway (0 while it is not online), opaque on CouchDB.
    public let updateSequence: SequenceID?
    /// The newest sequence that is stored for good; nil on CouchDB. As ``updateSequence`` on the versions that are known.
    public let committedSequence: SequenceID?
    /// How far documents have been purged: another one means that some went without a change in the feed. Opaque; always
    /// 0 on Sync Gateway, which purges without counting.
    public let purgeSequence: String?
    /// Live documents; nil on Sync Gateway, which does not tell.
    public let documentCount: Int?
    /// Tombstones; nil on Sync Gateway.
    public let deletedDocumentCount: Int?
    /// Nil on Sync Gateway.
    public let byteCounts: ByteCounts?
    /// Sync Gateway: `Online`, `Offline`, `Starting` …; nil on CouchDB.
    public let state: String?
    /// Since when there is this database; another one if it was deleted and made again, on Sync Gateway also after it was
    /// offline. Opaque. Restricted users see it too.
    public let instance: String?
    /// Being compacted: slower than usual.
    public let isCompacting: Bool
    /// Its documents are grouped by the part of their ids before ":" (CouchDB).
    public let isPartitioned: Bool
    /// The version of its files; 0 on Sync Gateway.
    public let diskFormatVersion: Int?

    /// ``updateSequence`` where it can be relied on: Sync Gateway says 0 while it is not online.
    public var newestSequence: SequenceID? {
        isOnline && updateSequence?.syncGatewayNumber != 0 ? updateSequence : nil
    }

    public var isOnline: Bool { state == nil || state == "Online" }

    /// Nil if `answer` does not describe a database.
    init?(_ answer: SmallJSON) {
        guard let name = answer["db_name"]?.string else { return nil }
        self.name = name
        updateSequence = answer["update_seq"]?.numberOrString.flatMap { SequenceID($0) }
        committedSequence = answer["committed_update_seq"]?.numberOrString.flatMap { SequenceID($0) }
        purgeSequence = answer["purge_seq"]?.numberOrString
        documentCount = answer["doc_count"]?.integer
        deletedDocumentCount = answer["doc_del_count"]?.integer
        byteCounts = answer["sizes"].map { sizes in
            ByteCounts(
                file: sizes["file"]?.integer, external: sizes["external"]?.integer, active: sizes["active"]?.integer)
        }
        state = answer["state"]?.string
        instance = answer["instance_start_time"]?.numberOrString
        isCompacting = answer["compact_running"]?.bool ?? false
        isPartitioned = answer["props"]?["partitioned"]?.bool ?? false
        diskFormatVersion = answer["disk_format_version"]?.integer
    }
}

/// What `GET /` tells.
public struct ServerInfo: Sendable {
    /// Nil if it names neither of the two vendors.
    public let dialect: GatewayDialect?
    /// As the server writes it: `3.5.0`, `Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE`.
    public let version: String?
    /// CouchDB's `uuid`, which stays; `node_uid` of Sync Gateway 4, another one for each node. Nil where neither is told.
    public let identity: String?
    /// What CouchDB says it can do.
    public let features: [String]

    /// Nil if `answer` is no gateway's greeting.
    init?(_ answer: SmallJSON) {
        guard answer["couchdb"] != nil || answer["vendor"] != nil else { return nil }
        dialect = GatewayDialect(vendor: answer["vendor"]?["name"]?.string)
        version = answer["version"]?.string
        identity = (answer["uuid"] ?? answer["node_uid"])?.string
        features = answer["features"]?.elements?.compactMap(\.string) ?? []
    }
}

extension SmallJSON {
    /// What one server writes as a number and the other as a string.
    fileprivate var numberOrString: String? {
        switch self {
        case .number(let text), .string(let text): text
        default: nil
        }
    }
}
