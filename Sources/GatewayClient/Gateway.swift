internal import HTTPTransport
internal import Locking

/// One keyspace of a gateway, accessed by its REST API, in either dialect. Keeps connections, sessions and facts about
/// the server in memory.
///
/// Any number of tasks may call at once. Cancelling a call aborts its request; the call throws `.cancelled`.
public final class Gateway: Sendable {
    /// The keyspace's address. Its ``GatewayURL/userInfo`` is ignored: credentials come from the settings.
    public let url: GatewayURL
    let settings: GatewaySettings
    let http: HTTPClient
    private let detectedDialect: Locked<GatewayDialect?>
    /// Keyed by database on Sync Gateway. CouchDB's sessions are valid for the whole server; their key is empty.
    let sessions: Locked<[String: GatewaySession]>
    /// Whether the gateway has refused a compressed request and accepted the same one uncompressed.
    let refusesCompression: Locked<Bool>
    /// Whether compressing requests saves time.
    let compressionGauge: Locked<CompressionGauge>
    /// No request is sent before this time.
    let hold: Locked<RetryAfterPause?>
    /// Whether a request has succeeded. This is then a gateway, and the scheme of its address is right.
    let hasAnswered: Locked<Bool>
    /// Whether documents that are read for a later write need `_exp`.
    let wantsExpiry: Locked<Bool>
    /// Whether the keyspace's database is partitioned, according to its last description.
    let isPartitioned = Locked(false)
    private let ownsConnections: Bool

    /// Starts the thread for all transfers. Opens no connection before the first request. If the system lacks resources
    /// for the thread, every request fails with `.outOfResources`.
    public init(_ url: GatewayURL, settings: GatewaySettings = GatewaySettings()) {
        self.url = url
        self.settings = settings
        var configuration = HTTPClientConfiguration()
        configuration.tls = HTTPClientConfiguration.TLS(settings.tls)
        configuration.userAgent = settings.userAgent
        configuration.carrier = settings.process.carrier
        if let observer = settings.requestObserver { configuration.observer = { observer(RequestRecord($0)) } }
        // A quarter of the transport's default: rows are processed as they arrive, and memory matters more than a speed
        // that no gateway reaches.
        configuration.bodies.highWaterMark = 256 << 10
        http = HTTPClient(configuration: configuration)
        detectedDialect = Locked(settings.dialect)
        sessions = Locked([:])
        refusesCompression = Locked(false)
        compressionGauge = Locked(CompressionGauge())
        hold = Locked(nil)
        hasAnswered = Locked(false)
        wantsExpiry = Locked(settings.keepsExpiry)
        ownsConnections = true
    }

    private init(sharing other: Gateway, url: GatewayURL) {
        self.url = url
        settings = other.settings
        http = other.http
        detectedDialect = other.detectedDialect
        sessions = other.sessions
        refusesCompression = other.refusesCompression
        compressionGauge = other.compressionGauge
        hold = other.hold
        hasAnswered = other.hasAnswered
        wantsExpiry = other.wantsExpiry
        ownsConnections = false
    }

    /// Another keyspace of the same server, over the same connections and as the same user.
    public func sibling(_ keyspace: KeyspaceName) -> Gateway {
        Gateway(sharing: self, url: url.sibling(keyspace))
    }

    /// The kind of server, from the settings or its answers. Sync Gateway until it is known.
    public var dialect: GatewayDialect { detectedDialect.withLock { $0 } ?? .syncGateway }

    /// Whether ``dialect`` is known, not assumed.
    var knowsDialect: Bool { detectedDialect.withLock { $0 } != nil }

    /// Closes all connections, including those of siblings. Requests in flight end with `.cancelled`. Does nothing for
    /// a ``sibling(_:)``, whose connections belong to the original.
    public func shutdown() async {
        if ownsConnections { await http.shutdown() }
    }

    func learn(_ dialect: GatewayDialect) {
        detectedDialect.withLock { if $0 == nil { $0 = dialect } }
    }
}
