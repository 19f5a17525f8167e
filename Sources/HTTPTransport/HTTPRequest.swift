/// One request: what to send, to whom, and how long it may take.
package struct HTTPRequest: Sendable {
    /// Sent as it is, `GET` by default.
    package var method: String
    /// `http://` or `https://`, already percent-encoded. A URL with user info is refused: see ``credentials``.
    package var url: String
    /// Sent in this order. libcurl adds `Host`, `User-Agent`, `Accept` and `Content-Length` unless they are given here.
    package var headers: [(name: String, value: String)]
    package var body: HTTPRequestBody
    package var credentials: HTTPCredentials?
    /// For the whole exchange, from ``HTTPClient/send(_:)`` to the last byte of the body, pauses of the reader
    /// included. Default: none.
    package var deadline: Duration?
    /// For how long no byte may arrive or leave; time in which the reader keeps the transfer waiting does not count.
    /// Default: none.
    package var idleTimeout: Duration?
    /// Whether libcurl may send it again by itself, when a kept connection ends before any byte of an answer. What must
    /// not be done twice unnoticed ends with `.connectionLost` instead. Default: true.
    package var mayBeRepeated: Bool

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

    package var customMirror: Mirror {
        Mirror(self, children: ["request": description, "headers": headers.map(\.name), "body": body.count as Any])
    }
}

extension String {
    /// A URL that can be shown: without query, fragment and whatever stands before an `@` in the authority.
    var withoutUserInfoAndQuery: String {
        let path = prefix { $0 != "?" && $0 != "#" }
        guard let scheme = path.firstRange(of: "://")?.upperBound else { return String(path) }
        let authority = path[scheme...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return String(path) }
        return String(path[..<scheme] + path[path.index(after: at)...])
    }
}
