internal import LosslessJSON

/// What a request of the changes feed asks for.
struct ChangesRequest: Sendable {
    enum Feed: String, Sendable {
        case normal
        case longpoll
        case continuous
    }

    var feed = Feed.normal
    var since = FeedPosition.start
    /// Nil for no limit, and so is 0 on the wire.
    var limit: Int?
    var selection = ChangeSelection()
    /// How long a feed may be silent; nil for none. Never below 25 s.
    var heartbeat: Duration?
    /// How long a feed waits for a change; nil for ever, where there is a heartbeat.
    var timeout: Duration? = .milliseconds(300_000)

    /// - Note: Source: recorded, Sync Gateway 4.1.1; the query goes before the body of a POST.
    init(_ request: Request) throws(GatewayFault) {
        let query = request.query
        var settings: JSONValue?
        switch request.method {
        case "GET": break
        case "POST": settings = try Self.settings(request)
        case "HEAD": throw GatewayFault(400, "")
        default: throw .methodNotAllowed("GET, HEAD, POST")
        }
        let text = { (name: String) in query[name] ?? settings?[name]?.string }
        let number = { (name: String) in query[name].map { Int($0) } ?? settings?[name]?.integer }
        let flag = { (name: String) in query[name].map { $0 == "true" } ?? settings?[name]?.bool ?? false }
        guard let feed = Feed(rawValue: text("feed") ?? "normal") else { throw GatewayFault(400, "Unknown feed type") }
        self.feed = feed
        since = try FeedPosition(query["since"] ?? Self.since(settings?["since"]))
        limit = number("limit").flatMap { $0 > 0 ? $0 : nil }
        selection.includesDocuments = flag("include_docs")
        selection.includesBranches = text("style") == "all_docs"
        selection.activeOnly = flag("active_only")
        try setFilter(text("filter"), ids: query["doc_ids"], listed: settings?["doc_ids"])
        setTimes(heartbeat: number("heartbeat"), timeout: number("timeout"))
    }

    private static func settings(_ request: Request) throws(GatewayFault) -> JSONValue {
        try request.checkEncoding()
        do { return try JSONText(request.body).root } catch {
            throw GatewayFault(400, "Invalid JSON: \"\(GoJSON.unmarshalError(error))\"")
        }
    }

    private static func since(_ value: JSONValue?) -> String {
        guard let value, value.kind != .null else { return "" }
        return value.string ?? String(decoding: value.bytes, as: UTF8.self)
    }

    private mutating func setFilter(_ filter: String?, ids: String?, listed: JSONValue?) throws(GatewayFault) {
        switch filter {
        case nil, "": return
        case "_doc_ids":
            guard feed == .normal else {
                throw GatewayFault(400, "Filter '_doc_ids' is only valid for feed=normal replications")
            }
            let named = ids.map { $0.split(separator: ",").map(String.init) }
            selection.ids = named ?? listed?.elements.compactMap(\.string) ?? []
        default: throw GatewayFault(400, "Unknown filter; try sync_gateway/bychannel or _doc_ids")
        }
    }

    /// - Note: Source: recorded, Sync Gateway 4.1.1: a heartbeat is never more often than every 25 s, and switches the
    ///   timeout off. Default and maximum of the timeout are Sync Gateway's, 5 and 15 minutes.
    private mutating func setTimes(heartbeat: Int?, timeout: Int?) {
        if let heartbeat, heartbeat > 0 {
            self.heartbeat = .milliseconds(min(max(heartbeat, 25_000), 900_000))
            self.timeout = nil
        } else if let timeout, timeout > 0 {
            self.timeout = .milliseconds(min(timeout, 900_000))
        }
    }
}

/// A place in the changes feed, as a client names it.
struct FeedPosition: Sendable, Equatable {
    /// As it goes back to the client while nothing has happened.
    let text: String
    /// Changes above this sequence are due.
    let sequence: Int

    static let start = FeedPosition(text: "0", sequence: 0)

    private init(text: String, sequence: Int) {
        self.text = text
        self.sequence = sequence
    }

    /// Takes `16`, `"16"`, `29:13`, `10::14` and nothing at all.
    ///
    /// `TRIGGER:SEQUENCE` is a place within what a grant brought: all before the grant was seen. `LOW::SEQUENCE` says
    /// that something above `LOW` was still missing. This gateway gives out neither, but starts where nothing is lost.
    ///
    /// - Note: Source: recorded, Sync Gateway 4.1.1.
    init(_ given: String) throws(GatewayFault) {
        var text = given
        if text.count >= 2, text.hasPrefix("\""), text.hasSuffix("\"") { text = String(text.dropFirst().dropLast()) }
        guard !text.isEmpty else {
            self = .start
            return
        }
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count <= 3, let first = UInt64(parts[0]), text.utf8.first != UInt8(ascii: "+") else {
            throw GatewayFault(400, "Invalid sequence: \"\(given)\"")
        }
        for (position, part) in parts.enumerated() where UInt64(part) == nil {
            if part.isEmpty, position == 1, parts.count == 3 { continue }
            throw GatewayFault(500, "Internal error: strconv.ParseUint: parsing \"\(part)\": invalid syntax")
        }
        let sequence = Int(clamping: first)
        self.init(text: text, sequence: parts.count == 2 ? max(0, sequence - 1) : sequence)
    }
}
