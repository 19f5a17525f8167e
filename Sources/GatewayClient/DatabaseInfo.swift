internal import LosslessJSON

/// The content of `GET /{db}/`.
public struct DatabaseInfo: Sendable {
    /// The size of a database, in bytes.
    public struct ByteCounts: Sendable, Equatable {
        /// On disk.
        public let file: Int?
        /// The documents and attachments themselves, uncompressed.
        public let external: Int?
        /// The part of `file` that is in use.
        public let active: Int?
    }

    /// `db_name`: the database alone, without scope and collection.
    public let name: String
    /// The feed's newest sequence: a number on Sync Gateway (0 while it is not online), opaque on CouchDB.
    public let updateSequence: SequenceID?
    /// The newest sequence that is stored durably; nil on CouchDB. In all known versions it equals ``updateSequence``.
    public let committedSequence: SequenceID?
    /// Changes when documents are purged, which is not visible in the feed. Opaque; always 0 on Sync Gateway, which
    /// does not count purges.
    public let purgeSequence: String?
    /// Live documents; nil on Sync Gateway, which does not count them.
    public let documentCount: Int?
    /// Tombstones; nil on Sync Gateway.
    public let deletedDocumentCount: Int?
    /// Nil on Sync Gateway.
    public let byteCounts: ByteCounts?
    /// Sync Gateway: `Online`, `Offline`, `Starting` …; nil on CouchDB.
    public let state: String?
    /// When the database was created. Changes if it is recreated; on Sync Gateway also after it was offline. Opaque.
    /// Restricted users see it too.
    public let instance: String?
    /// Whether it is being compacted, and so slower than usual.
    public let isCompacting: Bool
    /// Whether documents are grouped by the part of their ids before ":" (CouchDB).
    public let isPartitioned: Bool
    /// The version of its file format; 0 on Sync Gateway.
    public let diskFormatVersion: Int?

    /// ``updateSequence`` if it is reliable: nil while Sync Gateway is not online and reports 0.
    public var newestSequence: SequenceID? {
        isOnline && updateSequence?.syncGatewayNumber != 0 ? updateSequence : nil
    }

    /// Differs between a database and a later one of its name, unless both were created within one second. Nil on Sync
    /// Gateway, whose ``instance`` also changes after the database was offline.
    package var creation: String? { state == nil ? instance : nil }

    /// False while Sync Gateway reports another ``state``, such as `Offline`; always true on CouchDB.
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

/// The content of `GET /`.
public struct ServerInfo: Sendable {
    /// Nil if the answer matches neither server.
    public let dialect: GatewayDialect?
    /// As the server writes it: `3.5.0`, `Couchbase Sync Gateway/4.1.1(0;6bdbe7d) CE`.
    public let version: String?
    /// CouchDB's `uuid`, which never changes, or `node_uid` of Sync Gateway 4, which differs between nodes. Nil without
    /// either.
    public let identity: String?
    /// CouchDB's list of its features; empty on Sync Gateway.
    public let features: [String]

    /// Nil if `answer` is not a gateway's greeting.
    init?(_ answer: SmallJSON) {
        guard answer["couchdb"] != nil || answer["vendor"] != nil else { return nil }
        dialect = GatewayDialect(greeting: answer)
        version = answer["version"]?.string
        identity = (answer["uuid"] ?? answer["node_uid"])?.string
        features = answer["features"]?.elements?.compactMap(\.string) ?? []
    }
}

extension SmallJSON {
    /// The text of a value that one server writes as a number and the other as a string.
    fileprivate var numberOrString: String? {
        switch self {
        case .number(let text), .string(let text): text
        default: nil
        }
    }
}
