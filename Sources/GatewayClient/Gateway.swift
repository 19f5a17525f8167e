internal import HTTPTransport
internal import Locking

/// One keyspace of a gateway, over its REST API. Knows both dialects; holds connections, no other state.
///
/// Any number of tasks may call at once. Cancelling a call aborts its request.
public final class Gateway: Sendable {
    public let url: GatewayURL
    let settings: GatewaySettings
    let http: HTTPClient
    private let seenDialect: Locked<GatewayDialect?>
    /// By the database that they are good for, of CouchDB by none.
    let sessions: Locked<[String: GatewaySession]>
    /// It has refused a packed request and taken the same one plainly.
    let refusesCompression: Locked<Bool>
    /// Nothing is asked before.
    let hold: Locked<GatewayHold?>
    /// A request has succeeded: what answers there is a gateway, and speaks what the address says.
    let hasAnswered: Locked<Bool>
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
        if let observer = settings.requestObserver { configuration.observer = { observer(RequestRecord($0)) } }
        // A quarter of the transport's default: rows are worked off as they come, and memory counts more than the last
        // bit of speed, which is far above any gateway's.
        configuration.bodies.highWaterMark = 256 << 10
        http = HTTPClient(configuration: configuration)
        seenDialect = Locked(settings.dialect)
        sessions = Locked([:])
        refusesCompression = Locked(false)
        hold = Locked(nil)
        hasAnswered = Locked(false)
        ownsConnections = true
    }

    private init(sharing other: Gateway, url: GatewayURL) {
        self.url = url
        settings = other.settings
        http = other.http
        seenDialect = other.seenDialect
        sessions = other.sessions
        refusesCompression = other.refusesCompression
        hold = other.hold
        hasAnswered = other.hasAnswered
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

    func learn(_ dialect: GatewayDialect) {
        seenDialect.withLock { if $0 == nil { $0 = dialect } }
    }
}
