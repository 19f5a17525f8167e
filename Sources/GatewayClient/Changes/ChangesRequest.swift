internal import LosslessJSON

/// The options of a `_changes` request.
public struct ChangesRequest: Sendable {
    /// When the answer ends: the parameter `feed`.
    public enum Feed: Sendable, Equatable {
        /// All changes so far, in one answer of any length.
        case normal
        /// Like `normal`; but if there are no changes, the gateway waits for the first one or until `timeout` has
        /// passed.
        case longpoll(timeout: Duration)
        /// Each change as it happens, over one connection, for at most `duration` and never longer than
        /// ``GatewaySettings/Deadlines/feed``. Request again from where it ended.
        case continuous(duration: Duration)

        var isContinuous: Bool { if case .continuous = self { true } else { false } }
    }

    /// Which documents the feed includes.
    public enum Filter: Sendable, Equatable {
        /// Only those in these channels (Sync Gateway). A channel that this user may not see returns nothing, without
        /// an error. A name can't contain a comma.
        case channels([String])
        /// Only these documents. Sync Gateway accepts this only with the feed `normal`.
        case documents([DocumentID])
    }

    /// Below the 60 s after which many proxies cut an idle connection and CouchDB ends a longpoll.
    public static let defaultLongpollTimeout: Duration = .seconds(50)

    /// No feed may stay open forever: after the database was offline, a feed of Sync Gateway 4.1 sends only heartbeats
    /// and never another change.
    public static let maxContinuousFeedTime: Duration = .seconds(300)

    /// The shortest heartbeat interval that Sync Gateway accepts.
    static let heartbeat: Duration = .seconds(25)

    /// Opaque, sent back unchanged. Only changes after it are returned.
    public var since: SequenceID
    /// Default `normal`.
    public var feed: Feed
    /// `include_docs`: whether rows contain the documents' bodies. Default true.
    public var includesDocuments: Bool
    /// The maximum number of rows; nil for all. 0 means all on Sync Gateway and none on CouchDB: don't send it.
    public var limit: Int?
    /// Nil for all documents that this user may see.
    public var filter: Filter?
    /// Lists all leaf revisions in each row, not only the winner (`style=all_docs`): ``Change/revisions``.
    public var listsAllLeaves = false
    /// Omits deleted and removed documents (Sync Gateway).
    public var isActiveOnly = false
    /// Reports documents that this user may no longer see, as ``Change/Kind/revoked`` (Sync Gateway).
    public var includesRevocations = false

    /// How long the gateway may take to send every change that was written before this request, with the feed `normal`.
    /// Nil: it sends the current content of its feed.
    ///
    /// If it takes longer, the answer ends with `.timedOut`.
    ///
    /// - Note: Source: `request_plus`, Sync Gateway 3.1 and later. Other gateways ignore it.
    package var maxWaitForWrites: Duration?

    /// Whether the request gets a new connection, so that the time until it is cut can be measured.
    package var usesNewConnection = false

    /// By default all changes so far, from the beginning, with bodies.
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
        if maxWaitForWrites != nil { query.append(("request_plus", "true")) }
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

    /// Parameters that do not fit into a query; nil if all do. CouchDB reads the filter's name from the query and Sync
    /// Gateway from either, so both contain it. For the other parameters, Sync Gateway prefers the query.
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
