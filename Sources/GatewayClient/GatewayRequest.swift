internal import AccessTokens
internal import HTTPTransport

/// One request, as the methods of ``Gateway`` describe it.
struct GatewayRequest {
    enum Place {
        /// Below the server's root (and the path prefix).
        case server(String)
        /// Below the database, whatever collection the keyspace names.
        case database(String)
        /// Below the keyspace.
        case keyspace(String)

        /// The server, or the database.
        var root: Place {
            switch self {
            case .server: .server("")
            case .database, .keyspace: .database("")
            }
        }
    }

    struct Body {
        /// A source is read while it is sent. Such a request is sent only once.
        var content: HTTPRequestBody
        var type = "application/json"
        /// Whether gateways accept it as gzip.
        var mayBeCompressed = false
        var isCompressed = false

        static func json(_ bytes: [UInt8]) -> Body { json(segments: [bytes]) }

        static func json(segments: [[UInt8]], mayBeCompressed: Bool = false) -> Body {
            Body(content: .segments(segments), mayBeCompressed: mayBeCompressed)
        }

        var isSentOnce: Bool { segments == nil }

        /// Nil for a source.
        var segments: [[UInt8]]? { if case .segments(let segments) = content { segments } else { nil } }

        /// The same body, compressed to these bytes.
        func compressed(to bytes: [UInt8]) -> Body {
            Body(content: .segments([bytes]), type: type, mayBeCompressed: mayBeCompressed, isCompressed: true)
        }
    }

    var method = "GET"
    var place: Place
    var query: [(name: String, value: String)] = []
    var body: Body?
    /// The limit for the whole exchange.
    var deadline: Duration?
    /// How long the transfer may be silent.
    var silence: Duration?
    var accept = "application/json"
    /// The compression that the answer may have; nil: none.
    var acceptEncoding: String?
    /// See ``ChangesRequest/usesNewConnection``.
    var usesNewConnection = false
    /// Whether the gateway may answer only once something changes.
    var mayAnswerLate = false
    /// How long rows of the answer may be collected, because gateways send each one separately. Nil: they are not
    /// collected.
    var gatheringTime: ClosedRange<Duration>?

    /// For long lists, where the delay of a single row does not matter.
    static let listGatheringTime: ClosedRange<Duration> = .milliseconds(10) ... .milliseconds(100)
}

extension GatewayRequest {
    /// Whether it changes documents. If it is sent twice, the second attempt conflicts with the first.
    private var isWrite: Bool {
        if case .keyspace("_bulk_docs") = place { return true }
        return method == "PUT" || method == "DELETE"
    }

    /// The full URL of this request at the gateway `url`.
    func address(at url: GatewayURL) -> String {
        var address =
            switch place {
            case .server(let path): "\(url.base)/\(path)"
            case .database(let path): "\(url.base)/\(url.keyspace.database)/\(path)"
            case .keyspace(let path): "\(url.base)/\(url.keyspace.pathSegment)/\(path)"
            }
        for (index, item) in query.enumerated() {
            address += "\(index == 0 ? "?" : "&")\(item.name)=\(item.value.percentEncoded)"
        }
        return address
    }

    func httpRequest(to address: String, as authorization: Authorization) -> HTTPRequest {
        var headers = [(name: "Accept", value: accept)]
        if let acceptEncoding { headers.append((name: "Accept-Encoding", value: acceptEncoding)) }
        if let body { headers.append((name: "Content-Type", value: body.type)) }
        if body?.isCompressed == true { headers.append((name: "Content-Encoding", value: "gzip")) }
        var credentials: HTTPCredentials?
        switch authorization {
        case .credentials(let given): credentials = given.map(HTTPCredentials.init)
        case .session(let session): headers.append((name: "Cookie", value: session.cookie))
        case .token(let token): credentials = .bearer(token: token.text)
        }
        var request = HTTPRequest(
            method: method, url: address, headers: headers,
            body: body?.content ?? .none,
            credentials: credentials, deadline: deadline, idleTimeout: silence, mayBeRepeated: !isWrite)
        request.gatheringTime = gatheringTime
        request.usesNewConnection = usesNewConnection
        return request
    }
}

extension HTTPCredentials {
    fileprivate init(_ credentials: GatewayCredentials) {
        self =
            switch credentials {
            case .basic(let user, let password): .basic(user: user, password: password)
            case .bearer(let token): .bearer(token: token)
            }
    }
}
