internal import HTTPServing
internal import LosslessJSON

/// The parameters of a request for the changes feed.
struct FeedRequest: Sendable {
    enum Feed: String, Sendable {
        case normal
        case longpoll
        case continuous
    }

    var feed = Feed.normal
    var since = FeedPosition.start
    /// The client's `since`. Returned as `last_seq` if there are no rows.
    var sinceText = "0"
    /// Nil for no limit, which is 0 in the request.
    var limit: Int?
    var selection = ChangeSelection()
    /// The interval of heartbeats, at least 25 s. Nil for none.
    var heartbeat: Duration?
    /// How long a feed waits for a change. Nil, with a heartbeat, for no limit.
    var timeout: Duration? = .milliseconds(300_000)

    /// - Note: Source: recorded, Sync Gateway 4.1.1. The query takes precedence over the body of a POST.
    init(_ request: Request, _ requestUser: RequestUser) throws(RequestError) {
        let query = request.query
        var settings: ChangesSettings?
        switch request.method {
        case "GET": break
        case "POST": settings = try ChangesSettings(request.body)
        case "HEAD": throw RequestError(400, "")
        default: throw .methodNotAllowed("GET, HEAD, POST")
        }
        let text = { (name: String) in query[name] ?? settings?[name]?.string }
        let number = { (name: String) in query[name].map { Int($0) } ?? settings?[name]?.integer }
        let flag = { (name: String) in query[name].map { $0 == "true" } ?? settings?[name]?.bool ?? false }
        let position = query["since"] ?? Self.since(settings?["since"])
        since = try FeedPosition(position)
        try settings?.checkTypes()
        let name = text("feed") ?? ""
        guard let feed = name.isEmpty ? .normal : Feed(rawValue: name) else {
            throw RequestError(400, "Unknown feed type")
        }
        self.feed = feed
        if !position.isEmpty { sinceText = FeedPosition.unquoted(position) }
        limit = number("limit").flatMap { $0 > 0 ? $0 : nil }
        selection.includesDocuments = flag("include_docs")
        selection.requestUser = requestUser
        selection.includesBranches = text("style") == "all_docs"
        selection.activeOnly = flag("active_only")
        selection.namesVersions = text("version_type") == "cv"
        // A POST can't request revocations.
        selection.includesRevocations = request.method == "GET" && query.flag("revocations")
        try setFilter(text("filter"), ids: query["doc_ids"], listed: settings?["doc_ids"])
        if selection.ids == nil, text("filter") == "sync_gateway/bychannel" {
            try setChannels(text("channels"))
        }
        setTimes(heartbeat: number("heartbeat"), timeout: number("timeout"))
    }

    private static func since(_ value: JSONValue?) -> String {
        guard let value, value.kind != .null else { return "" }
        return value.string ?? String(decoding: value.bytes, as: UTF8.self)
    }

    private mutating func setFilter(_ filter: String?, ids: String?, listed: JSONValue?) throws(RequestError) {
        switch filter {
        case nil, "", "sync_gateway/bychannel": return
        case "_doc_ids":
            guard feed == .normal else {
                throw RequestError(400, "Filter '_doc_ids' is only valid for feed=normal replications")
            }
            selection.ids = try Self.ids(ids ?? "", listed)
        default: throw RequestError(400, "Unknown filter; try sync_gateway/bychannel or _doc_ids")
        }
    }

    /// - Parameters:
    ///   - text: A JSON array, or ids separated by commas.
    ///   - listed: The array in the body of a POST.
    /// - Note: Source: tried on Sync Gateway 4.1.1.
    private static func ids(_ text: String, _ listed: JSONValue?) throws(RequestError) -> [String] {
        let missing = RequestError(400, "Missing 'doc_ids' filter parameter")
        guard !text.isEmpty else {
            guard let listed else { throw missing }
            let ids = listed.elements.compactMap(\.string)
            guard listed.childCount > 0 else { throw RequestError(400, "Empty doc_ids list") }
            return ids
        }
        guard let array = try? JSONText(Array(text.utf8)).root, array.kind == .array || array.kind == .null,
            array.elements.allSatisfy({ $0.string != nil || $0.kind == .null })
        else { return text.split(separator: ",").map(String.init) }
        guard array.childCount > 0 else { throw missing }
        return array.elements.compactMap(\.string)
    }

    /// - Note: Source: recorded, Sync Gateway 4.1.1: channels that the user does not have are ignored.
    private mutating func setChannels(_ names: String?) throws(RequestError) {
        guard let names, !names.isEmpty else { throw RequestError(400, "Missing 'channels' filter parameter") }
        selection.channels = Set(names.split(separator: ",").map(String.init))
    }

    /// - Note: Source: recorded, Sync Gateway 4.1.1: the heartbeat's interval is at least 25 s, and a heartbeat
    ///   disables the timeout. Default and maximum of the timeout are Sync Gateway's, 5 and 15 minutes.
    private mutating func setTimes(heartbeat: Int?, timeout: Int?) {
        if let heartbeat, heartbeat > 0 {
            self.heartbeat = .milliseconds(min(max(heartbeat, 25_000), 900_000))
            self.timeout = nil
        } else if let timeout, timeout > 0 {
            self.timeout = .milliseconds(min(timeout, 900_000))
        }
    }
}
