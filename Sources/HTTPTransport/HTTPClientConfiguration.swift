/// How an ``HTTPClient`` connects.
package struct HTTPClientConfiguration: Sendable {
    package struct Connections: Sendable {
        /// Name lookup, TCP and TLS handshake together. Default 10 s.
        package var connectTimeout: Duration = .seconds(10)
        /// Requests beyond it wait for a connection to come free. Default nil = as many as there are requests: a limit
        /// would let longpolls hold up everything else.
        package var maximumPerHost: Int?

        package init() {}
    }

    package struct Bodies: Sendable {
        /// Bytes of one body that wait for their reader before the transfer is paused. Default 1 MiB.
        package var highWaterMark = 1 << 20
        /// libcurl's receive buffer and, for uploads, its send buffer, in bytes. Default 128 KiB.
        package var bufferSize = 128 << 10
        /// Bytes of one answer's header before it is refused. Default 256 KiB.
        package var headerLimit = 256 << 10

        package init() {}
    }

    package struct TLS: Sendable {
        /// A PEM file with the authorities to trust instead of the system's. Default nil.
        package var caFile: String?
        /// Accepts any certificate for any host. Default false.
        package var isInsecure = false
        /// Shown to servers that ask for one. Default nil.
        package var certificate: ClientCertificate?

        package init() {}
    }

    /// A certificate of the client, in PEM.
    package struct ClientCertificate: Sendable {
        package var file: String
        /// Nil if the key stands in `file`.
        package var keyFile: String?
        package var keyPassword: String?

        package init(file: String, keyFile: String? = nil, keyPassword: String? = nil) {
            self.file = file
            self.keyFile = keyFile
            self.keyPassword = keyPassword
        }
    }

    package var connections = Connections()
    package var bodies = Bodies()
    package var tls = TLS()
    /// Default: those that the environment names when the configuration is made.
    package var proxies = HTTPProxies.environment
    /// `changebot/<version>`, passed in by the program; `changebot` alone by default.
    package var userAgent = "changebot"

    /// Called at the end of each exchange, on the client's own thread: what it does keeps all transfers waiting. Default
    /// nil, which costs nothing.
    package var observer: (@Sendable (HTTPExchangeRecord) -> Void)?

    package init() {}
}
