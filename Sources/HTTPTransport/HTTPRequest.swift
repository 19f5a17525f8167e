/// One request: its content, its address, and its time limits.
package struct HTTPRequest: Sendable {
    /// Sent as it is, `GET` by default.
    package var method: String
    /// `http://` or `https://`, already percent-encoded. A URL with user info is refused: see ``credentials``.
    package var url: String
    /// Sent in this order. libcurl adds `Host`, `User-Agent`, `Accept` and `Content-Length` unless they are given here.
    package var headers: [(name: String, value: String)]
    /// Default: none.
    package var body: HTTPRequestBody
    /// Sent in the `Authorization` header. Default: none.
    package var credentials: HTTPCredentials?
    /// The limit for the whole exchange, from ``HTTPClient/send(_:)`` to the last byte of the body, including pauses of
    /// the reader. Default: none.
    package var deadline: Duration?
    /// How long no byte may arrive or leave. Pauses caused by the reader do not count. Default: none.
    package var idleTimeout: Duration?
    /// Whether libcurl may send the request again by itself if a reused connection ends before any byte of an answer.
    /// If not, the request fails with `.connectionClosed` instead. Default: true.
    package var mayBeRepeated: Bool
    /// How long the bytes of a body in small pieces may be collected before its reader gets them: at most the lower
    /// bound, or a fiftieth of the time since the first small piece, up to the upper bound. The first bytes after a
    /// pause are not delayed. For long answers, whose end may be noticed with the same delay. Default: not at all.
    package var gatheringTime: ClosedRange<Duration>?
    /// Whether ``HTTPResponse/upload`` says how fast the body was sent. Only for bodies in segments, of at least 64
    /// KiB. Default: false.
    package var measuresUpload = false
    /// Whether it gets a new connection. On a reused connection that ends without an answer, libcurl may send a request
    /// again, which takes the same time again. Default: false.
    package var usesNewConnection = false
    /// Whether ``HTTPResponse/connection`` describes the connection, which is then a new one. Default: false.
    package var reportsConnection = false

    /// Does no checks: ``HTTPClient/send(_:)`` throws `.badURL` or `.invalidRequest` for invalid values.
    package init(
        method: String = "GET",
        url: String,
        headers: [(name: String, value: String)] = [],
        body: HTTPRequestBody = .none,
        credentials: HTTPCredentials? = nil,
        deadline: Duration? = nil,
        idleTimeout: Duration? = nil,
        mayBeRepeated: Bool = true
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.credentials = credentials
        self.deadline = deadline
        self.idleTimeout = idleTimeout
        self.mayBeRepeated = mayBeRepeated
    }
}

extension HTTPRequest: CustomStringConvertible, CustomReflectable {
    /// Method and URL up to the query: header values and queries may hold secrets.
    package var description: String {
        "\(method) \(url.withoutUserInfoAndQuery)"
    }

    /// Header names and the body's length without any values, so that `dump` shows no secrets.
    package var customMirror: Mirror {
        Mirror(self, children: ["request": description, "headers": headers.map(\.name), "body": body.count as Any])
    }
}

extension String {
    /// A URL that is safe to show: without query, fragment and anything before an `@` in the authority.
    var withoutUserInfoAndQuery: String {
        let path = prefix { $0 != "?" && $0 != "#" }
        guard let scheme = path.firstRange(of: "://")?.upperBound else { return String(path) }
        let authority = path[scheme...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return String(path) }
        return String(path[..<scheme] + path[path.index(after: at)...])
    }
}
