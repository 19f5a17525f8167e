package import AccessTokens
package import HTTPTransport

/// How a client communicates with its gateway. Every default is defined here only.
///
/// Proxies come from the environment, as for curl: `http_proxy` (lower case only), `https_proxy`, `all_proxy`, and
/// `no_proxy` for hosts to reach directly. This machine is always reached directly.
public struct GatewaySettings: Sendable {
    /// Time limits, by kind of request.
    public struct Deadlines: Sendable {
        /// Small requests: information, `_local`, logging in.
        public var small: Duration = .seconds(50)
        /// A bulk write, from the first byte sent to the last of the answer.
        public var bulk: Duration = .seconds(300)
        /// How long the transfer may be silent in both directions, for any request that does not wait for changes. A
        /// hanging connection is detected within a minute.
        public var silence: Duration = .seconds(50)
        /// How long after its own timeout a longpoll may still deliver its first row, with or without heartbeats. The
        /// feed then counts as dead: by default 57 s after the request.
        public var longpollGrace: Duration = .seconds(7)
        /// The total time that a feed may stay open if it waits for changes: a continuous feed, or a longpoll that has
        /// delivered rows.
        public var feed: Duration = ChangesRequest.maxContinuousFeedTime
        /// How long any other streamed request may take: a catch-up, a list, an attachment. A day.
        public var stream: Duration = .seconds(86_400)

        /// Every property has its default.
        public init() {}
    }

    /// Which requests are sent as gzip: only `_bulk_docs`, which both servers accept compressed.
    public enum RequestCompression: String, Sendable, CaseIterable {
        /// From 8 KiB, while measurements show that compression clearly saves time. Never if the gateway is on this
        /// machine.
        case auto
        /// From 8 KiB.
        case always
        case never
    }

    /// How servers are checked, and what they are shown. Only for `https`.
    public struct TLS: Sendable {
        /// A PEM file of authorities to trust instead of the system's; nil for the system's.
        public var caFile: String?
        /// Accepts any certificate. For tests and emergencies.
        public var isInsecure = false
        /// Shown to servers that ask for a certificate; nil for none.
        public var clientCertificate: ClientCertificate?

        /// Every property has its default.
        public init() {}
    }

    /// What the gateways of a process share, and a simulation replaces.
    package struct Process: Sendable {
        /// Carries all requests to a gateway that is simulated in this process. Nil: they are sent over the network.
        package var carrier: (any HTTPCarrier)?
        /// So that a refused password is not sent too often.
        var loginGate = LoginGate.shared
        /// The clock for the age of sessions, for refused logins and for `Retry-After`.
        var now: @Sendable () -> ContinuousClock.Instant = { .now }
    }

    /// A certificate that identifies the client, in PEM.
    public struct ClientCertificate: Sendable {
        /// Path of the certificate; the key may be in the same file.
        public var file: String
        /// Path of the key; nil if it is in `file`.
        public var keyFile: String?
        /// Nil for a key that is not encrypted.
        public var keyPassword: String?

        /// Does not read files: with an unusable file, `https` requests fail with `.tlsFailed`.
        public init(file: String, keyFile: String? = nil, keyPassword: String? = nil) {
            self.file = file
            self.keyFile = keyFile
            self.keyPassword = keyPassword
        }
    }

    /// Nil for anonymous requests. ``credentialsSource`` takes precedence.
    public var credentials: GatewayCredentials?
    /// Called before each request, so that a password file can be read again, and again after a 401. If it then returns
    /// other credentials, the request is repeated with them. If it returns nil, ``credentials`` apply.
    ///
    /// Must be fast. An error that it throws ends the request with `.unauthorized`; the message contains its
    /// description.
    public var credentialsSource: (@Sendable () throws -> GatewayCredentials?)?
    /// Logs in once with name and password, then sends a cookie, which is renewed before it expires and after a 401.
    public var usesSession = false
    /// Each has its own default.
    public var tls = TLS()
    /// Overrides the detected kind of server; nil: detect it from answers.
    public var dialect: GatewayDialect?
    /// Each has its own default.
    public var deadlines = Deadlines()
    /// A gateway that refuses a compressed request gets only uncompressed ones afterwards.
    public var compressesRequests = RequestCompression.auto
    /// Whether to read `_exp`, the expiry, of each document that is read for a later write. Sync Gateway clears the
    /// expiry of a document with each write that lacks it. Costs one more request per document.
    public var keepsExpiry = false
    /// The `User-Agent` header; the program sets `changebot/VERSION`.
    public var userAgent = "changebot"
    /// Called at the end of each request, on the only transfer thread: it must be fast. Nil costs nothing.
    public var requestObserver: (@Sendable (RequestRecord) -> Void)?

    /// Where access tokens come from that are renewed. They replace all other credentials. Nil: there are none.
    package var accessTokens: AccessTokenSource?
    package var process = Process()

    /// Every property has its default.
    public init() {}
}

extension HTTPClientConfiguration.TLS {
    package init(_ tls: GatewaySettings.TLS) {
        self.init()
        (caFile, isInsecure) = (tls.caFile, tls.isInsecure)
        certificateFile = tls.clientCertificate?.file
        keyFile = tls.clientCertificate?.keyFile
        keyPassword = tls.clientCertificate?.keyPassword
    }
}
