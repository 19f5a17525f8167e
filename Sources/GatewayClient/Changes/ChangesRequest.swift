internal import LosslessJSON

/// What to ask of a changes feed.
public struct ChangesRequest: Sendable {
    public enum Feed: Sendable, Equatable {
        /// What there is, in one answer, however long.
        case normal
        /// The same; but where there is nothing, waits for the first change or until `timeout` has passed.
        case longpoll(timeout: Duration)
        /// Change after change over one connection, each as it comes, for at most `duration` and never longer than
        /// ``GatewaySettings/Deadlines/feed``. Ask again from where it ended.
        case continuous(duration: Duration)

        var isContinuous: Bool { if case .continuous = self { true } else { false } }
    }

    /// What the gateway is to leave out.
    public enum Filter: Sendable, Equatable {
        /// Only what is in these channels (Sync Gateway). A channel that this user may not see brings nothing and no
        /// error. A name cannot hold a comma.
        case channels([String])
        /// Only these documents. Sync Gateway takes it with the feed `normal` alone.
        case documents([DocumentID])
    }

    /// Below the 60 s at which many proxies cut an idle connection and CouchDB ends a longpoll.
    public static let defaultLongpollTimeout: Duration = .seconds(50)

    /// A feed of Sync Gateway 4.1 whose database was offline meanwhile goes on with heartbeats and never brings another
    /// change: none may stay open for ever.
    public static let longestContinuousFeed: Duration = .seconds(300)

    /// The shortest time between two heartbeats that Sync Gateway keeps to.
    static let heartbeat: Duration = .seconds(25)

    /// Opaque, sent back as it came.
    public var since: SequenceID
    public var feed: Feed
    public var includesDocuments: Bool
    /// The maximum number of rows; nil for all. 0 means all on Sync Gateway, none on CouchDB: don't send it.
    public var limit: Int?
    public var filter: Filter?
    /// With each row all leaf revisions, not the winner alone (`style=all_docs`): ``Change/revisions``.
    public var listsAllLeaves = false
    /// Leaves out deleted and removed documents (Sync Gateway).
    public var isActiveOnly = false
    /// Tells of documents that this user may not see any longer, as ``Change/Kind/revoked`` (Sync Gateway).
    public var includesRevocations = false

    public init(
        since: SequenceID = .start, feed: Feed = .normal, includesDocuments: Bool = true, limit: Int? = nil,
        filter: Filter? = nil
    ) {
        self.since = since
        self.feed = feed
        self.includesDocuments = includesDocuments
        self.limit = limit
        self.filter = filter
    }

    var query: [(name: String, value: String)] {
        var query = [(name: "since", value: since.queryValue)]
        if includesDocuments { query.append(("include_docs", "true")) }
        if let limit { query.append(("limit", String(limit))) }
        if listsAllLeaves { query.append(("style", "all_docs")) }
        if isActiveOnly { query.append(("active_only", "true")) }
        if includesRevocations { query.append(("revocations", "true")) }
        return query + filterQuery + feedQuery
    }

    private var filterQuery: [(name: String, value: String)] {
        switch filter {
        case .channels(let names)?:
            [("filter", "sync_gateway/bychannel"), ("channels", names.joined(separator: ","))]
        case .documents?: [("filter", "_doc_ids")]
        case nil: []
        }
    }

    private var feedQuery: [(name: String, value: String)] {
        switch feed {
        case .normal: []
        case .longpoll(let timeout):
            [("feed", "longpoll"), ("timeout", String(timeout.wholeMilliseconds))]
        case .continuous:
            [("feed", "continuous"), ("heartbeat", String(Self.heartbeat.components.seconds * 1000))]
        }
    }

    /// What does not fit into a query; nil if all does. CouchDB takes the filter's name from the query and Sync Gateway
    /// from either, so it stands in both; of the rest Sync Gateway reads the query first.
    var body: [UInt8]? {
        guard case .documents(let ids)? = filter else { return nil }
        var body = JSONWriter()
        body.object { body in
            body.member("filter", string: "_doc_ids")
            body.member("since", raw: since.json)
            if includesDocuments { body.member("include_docs", bool: true) }
            body.name("doc_ids")
            body.array { body in
                for id in ids { body.string(id.text) }
            }
        }
        return body.bytes
    }
}

extension Duration {
    /// Rounded down, never below 0.
    fileprivate var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < Int64.max / 2000 else { return .max }
        return max(0, seconds * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
