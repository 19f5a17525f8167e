/// How a client talks to its gateway. Every default is written here and nowhere else.
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
        /// How long the transfer may stand still, in both directions, for any request that does not wait for changes. A
        /// hanging connection is noticed within a minute.
        public var silence: Duration = .seconds(50)
        /// How long after its own timeout a longpoll may still deliver its first row, with or without heartbeats. After
        /// that the feed counts as dead: by default 57 s after the request.
        public var longpollGrace: Duration = .seconds(7)
        /// How long a feed that waits for changes may stay open in all: a continuous feed, or a longpoll that has
        /// delivered rows.
        public var feed: Duration = ChangesRequest.longestContinuousFeed
        /// How long any other streamed request may take: a catch-up, a list, an attachment. A day.
        public var stream: Duration = .seconds(86_400)

        /// Every property has its default.
        public init() {}
    }

    /// Which requests are sent as gzip: only `_bulk_docs`, which both servers accept compressed.
    public enum RequestCompression: String, Sendable, CaseIterable {
        /// From 8 KiB, while measurements show that compressing and sending takes clearly less time than sending
        /// alone. Never if the gateway is on this machine.
        case auto
        /// From 8 KiB.
        case always
        case never
    }

    /// A certificate that identifies the client, in PEM.
    public struct ClientCertificate: Sendable {
        /// Path of the certificate; the key may be in the same file.
        public var file: String
        /// Path of the key; nil if it is in `file`.
        public var keyFile: String?
        /// Nil for a key that is not encrypted.
        public var keyPassword: String?

        /// Reads no file: if one can't be used, `https` requests fail with `.tlsFailed`.
        public init(file: String, keyFile: String? = nil, keyPassword: String? = nil) {
            self.file = file
            self.keyFile = keyFile
            self.keyPassword = keyPassword
        }
    }

    /// Nil for anonymous requests. ``credentialsSource`` takes precedence.
    public var credentials: GatewayCredentials?
    /// Called before each request, so that a password file can be read again, and once more after a 401: if it then
    /// returns other credentials, the request is repeated with them. If it returns nil, ``credentials`` apply.
    ///
    /// Must be quick. An error that it throws ends the request with `.unauthorized`; the message contains its
    /// description.
    public var credentialsSource: (@Sendable () throws -> GatewayCredentials?)?
    /// Logs in once with name and password, then sends a cookie, which is renewed before it expires and after a 401.
    public var usesSession = false
    /// Shown to servers that ask for a certificate; nil for none.
    public var clientCertificate: ClientCertificate?
    /// Overrides what the server says about itself; nil: its answers decide.
    public var dialect: GatewayDialect?
    /// Each has its own default.
    public var deadlines = Deadlines()
    /// A gateway that refuses a compressed request gets uncompressed ones from then on.
    public var compressesRequests = RequestCompression.auto
    /// A PEM file of authorities to trust instead of the system's; nil for the system's.
    public var caFile: String?
    /// Reads `_exp`, when a document expires, with each document that is read to be written again. Sync Gateway clears
    /// the expiry of a document with each write that lacks it. One more request for each such document.
    public var keepsExpiry = false
    /// Accepts any certificate. For tests and emergencies.
    public var isInsecure = false
    /// The `User-Agent` header; the program sets `changebot/VERSION`.
    public var userAgent = "changebot"
    /// Called at the end of each request, on the one thread that transfers all bytes: it must be quick. Nil costs
    /// nothing.
    public var requestObserver: (@Sendable (RequestRecord) -> Void)?

    /// Shared by all gateways of this process, so that no refused password is sent too often.
    var loginGate = LoginGate.ofProcess
    /// The clock for the age of sessions, for refused logins and for `Retry-After`.
    var now: @Sendable () -> ContinuousClock.Instant = { .now }

    /// Every property has its default.
    public init() {}
}
