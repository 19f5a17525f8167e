/// How an ``HTTPClient`` connects.
package struct HTTPClientConfiguration: Sendable {
    /// How connections are opened, and how many.
    package struct Connections: Sendable {
        /// Name lookup, TCP and TLS handshake together. Default 10 s.
        package var connectTimeout: Duration = .seconds(10)
        /// Requests above this number wait for a free connection. Default nil: as many connections as requests. With a
        /// limit, longpolls would block all other requests.
        package var maximumPerHost: Int?
        /// Whether connections to link-local addresses fail with `.addressRefused`, even if a name resolves to them: on
        /// a cloud machine, such an address provides credentials. A proxy connects on its own and is not checked.
        /// Default false.
        package var refusesLinkLocal = false

        /// Every property has its default.
        package init() {}
    }

    /// Limits and buffers for bodies and headers.
    package struct Bodies: Sendable {
        /// Bytes of one body that may wait for their reader before the transfer is paused. Default 1 MiB.
        package var highWaterMark = 1 << 20
        /// libcurl's receive buffer and, for uploads, its send buffer, in bytes. Default 128 KiB.
        package var bufferSize = 128 << 10
        /// The longest header of an answer to accept, in bytes. Default 256 KiB.
        package var headerLimit = 256 << 10

        /// Every property has its default.
        package init() {}
    }

    /// Which servers to trust, and how the client identifies itself. For `https` only.
    package struct TLS: Sendable {
        /// A PEM file with the authorities to trust instead of the system's. Default nil.
        package var caFile: String?
        /// Accepts any certificate for any host. Default false.
        package var isInsecure = false
        /// The client's own certificate, a PEM file that is shown to servers that ask for one. Requests fail with
        /// `.tlsFailed` if it can't be used. Default nil.
        package var certificateFile: String?
        /// The PEM file with the key of the certificate. Default nil: it is in the same file.
        package var keyFile: String?
        /// Default nil: the key is not encrypted.
        package var keyPassword: String?

        /// Every property has its default.
        package init() {}
    }

    /// Default: 10 s to connect, any number per host.
    package var connections = Connections()
    /// Default: at most 1 MiB of each body in memory.
    package var bodies = Bodies()
    /// Default: the system's authorities, no client certificate.
    package var tls = TLS()
    /// Default: those in the environment when the configuration is created.
    package var proxies = HTTPProxies.environment
    /// The `User-Agent` header. Default `changebot`; the program sets `changebot/VERSION`.
    package var userAgent = "changebot"

    /// Called at the end of each exchange, on the client's own thread: a slow observer delays all transfers. Default
    /// nil, which costs nothing.
    package var observer: (@Sendable (HTTPExchangeRecord) -> Void)?
    /// Carries the requests in place of libcurl; only the bodies of answers are then kept here. Default nil.
    package var carrier: (any HTTPCarrier)?

    /// Every property has its default.
    package init() {}

    /// A carrier delivers whole bodies at once, and can't be paused.
    var highWaterMark: Int { carrier == nil ? bodies.highWaterMark : .max }
}
