/// How a client talks to its gateway. Every default is written here and nowhere else.
///
/// Proxies come from the environment as for curl: `http_proxy` (in small letters only), `https_proxy`, `all_proxy`, and
/// `no_proxy` for hosts that are asked directly. This machine always is.
public struct GatewaySettings: Sendable {
    public struct Deadlines: Sendable {
        /// Small requests: information, `_local`, logging in.
        public var small: Duration = .seconds(50)
        /// A bulk write, from the first byte sent to the last of the answer.
        public var bulk: Duration = .seconds(300)
        /// For how long nothing may move, in either direction, on any request that does not wait for changes. A connection
        /// that hangs is noticed within a minute.
        public var silence: Duration = .seconds(50)
        /// How long after its own timeout a longpoll may still bring its first row, heartbeats or not. Above it the feed
        /// is taken for dead: 57 s after it was asked for.
        public var longpollGrace: Duration = .seconds(7)
        /// How long a feed that waits for changes may stay open in all: a continuous one, a longpoll that has brought
        /// rows.
        public var feed: Duration = ChangesRequest.longestContinuousFeed
        /// How long anything else may take that is read or sent as it comes: a catch-up, a list, an attachment.
        public var stream: Duration = .seconds(86_400)

        public init() {}
    }

    /// Which requests go out as gzip. Both servers take it for `_bulk_docs`; other requests never do.
    public enum RequestCompression: String, Sendable, CaseIterable {
        /// Large ones, unless the gateway is on this machine: there packing takes longer than sending.
        case auto
        /// Large ones.
        case always
        case never
    }

    /// A certificate that proves who the client is, in PEM.
    public struct ClientCertificate: Sendable {
        public var file: String
        /// Nil if the key stands in `file`.
        public var keyFile: String?
        public var keyPassword: String?

        public init(file: String, keyFile: String? = nil, keyPassword: String? = nil) {
            self.file = file
            self.keyFile = keyFile
            self.keyPassword = keyPassword
        }
    }

    public var credentials: GatewayCredentials?
    /// Asked before each request, so that a password file can be read anew, and once more after a 401: if it gives
    /// others by then, the request is repeated with them. ``credentials`` count where it gives none.
    /// Must be quick. What it throws ends the request as `.unauthorized`, its description in the message.
    public var credentialsSource: (@Sendable () throws -> GatewayCredentials?)?
    /// Logs in with name and password once and sends a cookie from then on, renewed before it expires and after a 401.
    public var usesSession = false
    public var clientCertificate: ClientCertificate?
    /// Overrides what the server says of itself.
    public var dialect: GatewayDialect?
    public var deadlines = Deadlines()
    /// A gateway that refuses what is packed gets it plainly, from then on.
    public var compressesRequests = RequestCompression.auto
    /// A file of certificates to trust instead of the system's.
    public var caFile: String?
    /// Takes any certificate. For tests and emergencies.
    public var isInsecure = false
    public var userAgent = "changebot"
    /// Called at the end of each request, on the thread that moves the bytes of all: it must be quick. Nil costs nothing.
    public var requestObserver: (@Sendable (RequestRecord) -> Void)?

    /// What time it is, for the age of sessions.
    var now: @Sendable () -> ContinuousClock.Instant = { .now }

    public init() {}
}
