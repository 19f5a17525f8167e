/// What to ask of a changes feed.
public struct ChangesRequest: Sendable {
    public enum Feed: Sendable, Equatable {
        /// What there is, in one answer, however long.
        case normal
        /// The same; but where there is nothing, waits for the first change or until `timeout` has passed.
        case longpoll(timeout: Duration)
    }

    /// Below the 60 s at which many proxies cut an idle connection and CouchDB ends a longpoll.
    public static let defaultLongpollTimeout: Duration = .seconds(50)

    /// Opaque, sent back as it came.
    public var since: SequenceID
    public var feed: Feed
    public var includesDocuments: Bool
    /// At most so many rows; nil for all. 0 means all on Sync Gateway, none on CouchDB: don't send it.
    public var limit: Int?

    public init(
        since: SequenceID = .start, feed: Feed = .normal, includesDocuments: Bool = true, limit: Int? = nil
    ) {
        self.since = since
        self.feed = feed
        self.includesDocuments = includesDocuments
        self.limit = limit
    }

    var query: [(name: String, value: String)] {
        var query = [(name: "since", value: since.queryValue)]
        if includesDocuments { query.append(("include_docs", "true")) }
        if let limit { query.append(("limit", String(limit))) }
        if case .longpoll(let timeout) = feed {
            query.append(("feed", "longpoll"))
            query.append(("timeout", String(timeout.components.seconds * 1000)))
        }
        return query
    }
}
