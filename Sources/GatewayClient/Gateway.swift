internal import HTTPTransport
internal import Locking
internal import LosslessJSON

/// One keyspace of a gateway, over its REST API. Knows both dialects; holds connections, no other state.
///
/// Any number of tasks may call at once. Cancelling a call aborts its request.
public final class Gateway: Sendable {
    public let url: GatewayURL
    let settings: GatewaySettings
    private let http: HTTPClient
    private let seenDialect: Locked<GatewayDialect?>
    /// By the database that they are good for, of CouchDB by none.
    let sessions: Locked<[String: GatewaySession]>
    private let ownsConnections: Bool

    public init(_ url: GatewayURL, settings: GatewaySettings = GatewaySettings()) {
        self.url = url
        self.settings = settings
        var configuration = HTTPClientConfiguration()
        configuration.tls.caFile = settings.caFile
        configuration.tls.isInsecure = settings.isInsecure
        configuration.tls.certificate = settings.clientCertificate.map {
            HTTPClientConfiguration.ClientCertificate(file: $0.file, keyFile: $0.keyFile, keyPassword: $0.keyPassword)
        }
        configuration.userAgent = settings.userAgent
        // A quarter of the transport's default: rows are worked off as they come, and memory counts more than the last
        // bit of speed, which is far above any gateway's.
        configuration.bodies.highWaterMark = 256 << 10
        http = HTTPClient(configuration: configuration)
        seenDialect = Locked(settings.dialect)
        sessions = Locked([:])
        ownsConnections = true
    }

    private init(sharing other: Gateway, url: GatewayURL) {
        self.url = url
        settings = other.settings
        http = other.http
        seenDialect = other.seenDialect
        sessions = other.sessions
        ownsConnections = false
    }

    /// Another keyspace of the same server, over the same connections and as the same user.
    public func sibling(_ keyspace: Keyspace) -> Gateway {
        Gateway(sharing: self, url: url.sibling(keyspace))
    }

    /// Which server this is, as far as its answers have told. Sync Gateway until one has.
    public var dialect: GatewayDialect { seenDialect.withLock { $0 } ?? .syncGateway }

    /// Whether ``dialect`` is more than an assumption.
    var knowsDialect: Bool { seenDialect.withLock { $0 } != nil }

    /// Closes all connections, those of siblings too. Requests in flight end as cancelled. Does nothing for a
    /// ``sibling(_:)``: the connections are not its own.
    public func shutdown() async {
        if ownsConnections { await http.shutdown() }
    }
}

// MARK: - Exchanges

/// One request, as the methods of ``Gateway`` describe it.
struct GatewayRequest {
    enum Place {
        /// Below the server's root (and the path prefix).
        case server(String)
        /// Below the database, whatever collection the keyspace names.
        case database(String)
        /// Below the keyspace.
        case keyspace(String)
    }

    var method = "GET"
    var place: Place
    var query: [(name: String, value: String)] = []
    var body: [[UInt8]]?
    var deadline: Duration?
    var silence: Duration?
    var accept = "application/json"
    var contentType = "application/json"
}

extension Gateway {
    /// Sends a request and returns once the answer's head is there and is a success.
    ///
    /// - Throws: ``GatewayError`` for every status but 2xx, with the reason that the gateway gives.
    func open(_ request: GatewayRequest) async throws(GatewayError) -> HTTPResponse {
        var authorization = try await authorization()
        var response = try await send(request, as: authorization)
        if response.status == 401, drop(authorization) {
            authorization = try await self.authorization()
            response = try await send(request, as: authorization)
        }
        noteRenewal(response.headers, of: authorization)
        guard (200..<300).contains(response.status) else {
            throw await GatewayError(refusal: response, to: request, of: url, dialect: dialect)
        }
        return response
    }

    /// Sends a request and returns its answer, whatever its status. A GET follows up to five moves within this server:
    /// never to another, since the credentials go along.
    func send(_ request: GatewayRequest, as authorization: Authorization) async throws(GatewayError) -> HTTPResponse {
        var address = address(of: request)
        for _ in 0..<5 {
            let response = try await send(request, to: address, as: authorization)
            guard response.status == 301, request.method == "GET", let place = response.headers["Location"],
                let next = url.address(ofMoveTo: place)
            else { return response }
            address = next
        }
        return try await send(request, to: address, as: authorization)
    }

    private func send(
        _ request: GatewayRequest, to address: String, as authorization: Authorization
    ) async throws(GatewayError) -> HTTPResponse {
        let response: HTTPResponse
        do throws(HTTPTransportError) {
            response = try await http.send(httpRequest(request, to: address, as: authorization))
        } catch {
            throw GatewayError(error)
        }
        if let dialect = GatewayDialect(serverHeader: response.headers["Server"]) { learn(dialect) }
        return response
    }

    /// The whole body of a successful answer.
    ///
    /// - Throws: Also `.malformedAnswer` if it is longer than `limit`.
    func collect(_ request: GatewayRequest, limit: Int = 1 << 20) async throws(GatewayError) -> [UInt8] {
        let response = try await open(request)
        do throws(HTTPTransportError) { return try await response.body.collect(upTo: limit) } catch {
            throw GatewayError(error)
        }
    }

    /// A small answer that must be a JSON object or array.
    func answer(_ request: GatewayRequest) async throws(GatewayError) -> SmallJSON {
        let body = try await collect(request)
        guard let answer = SmallJSON(body) else { throw .notJSON(body, from: url) }
        return answer
    }

    func learn(_ dialect: GatewayDialect) {
        seenDialect.withLock { if $0 == nil { $0 = dialect } }
    }

    private func address(of request: GatewayRequest) -> String {
        var address =
            switch request.place {
            case .server(let path): "\(url.base)/\(path)"
            case .database(let path): "\(url.base)/\(url.keyspace.database)/\(path)"
            case .keyspace(let path): "\(url.base)/\(url.keyspace.pathSegment)/\(path)"
            }
        for (index, item) in request.query.enumerated() {
            address += "\(index == 0 ? "?" : "&")\(item.name)=\(item.value.percentEncoded)"
        }
        return address
    }

    private func httpRequest(
        _ request: GatewayRequest, to address: String, as authorization: Authorization
    ) -> HTTPRequest {
        var headers = [(name: "Accept", value: request.accept)]
        if request.body != nil { headers.append((name: "Content-Type", value: request.contentType)) }
        var credentials: HTTPCredentials?
        switch authorization {
        case .credentials(let given): credentials = given.map(HTTPCredentials.init)
        case .session(let session): headers.append((name: "Cookie", value: session.cookie))
        }
        return HTTPRequest(
            method: request.method,
            url: address,
            headers: headers,
            body: request.body.map { .segments($0) } ?? .none,
            credentials: credentials,
            deadline: request.deadline,
            idleTimeout: request.silence)
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
