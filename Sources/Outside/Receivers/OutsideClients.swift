internal import BotState
internal import HTTPTransport
internal import Locking
internal import Rules

/// The HTTP clients of webhooks or downloads: one for each set of certificate files. A changed file gets a new client.
/// No client connects to a link-local address.
final class OutsideClients: Sendable {
    private typealias Versions = [SecretContent.Version?]

    /// How many bytes of a response are buffered at most.
    private let highWaterMark: Int
    private let carrier: (any HTTPCarrier)?
    private let clients = Locked<[[CertificateFile]: (client: HTTPClient, versions: Versions)]>([:])

    /// - Parameter carrier: Carries all requests to servers that are simulated in this process. Nil: they are sent over
    ///   the network.
    init(highWaterMark: Int, carrier: (any HTTPCarrier)?) {
        self.highWaterMark = highWaterMark
        self.carrier = carrier
    }

    func client(for files: OutsideFiles) -> HTTPClient {
        let certificates = files.certificates
        let versions = certificates.flatMap(\.paths).map { SecretContent.Version(of: $0) }
        return clients.withLock { clients in
            if let known = clients[certificates], known.versions == versions { return known.client }
            let client = HTTPClient(configuration: configuration(certificates))
            clients[certificates] = (client, versions)
            return client
        }
    }

    private func configuration(_ certificates: [CertificateFile]) -> HTTPClientConfiguration {
        var configuration = HTTPClientConfiguration()
        configuration.connections.refusesLinkLocal = true
        for file in certificates {
            switch file.kind {
            case .authorities: configuration.tls.caFile = file.path
            case .tokenAuthorities: break
            case .own(let key): (configuration.tls.certificateFile, configuration.tls.keyFile) = (file.path, key)
            }
        }
        configuration.userAgent = "changebot/" + ProgramVersion.current
        configuration.bodies.highWaterMark = highWaterMark
        configuration.bodies.headerLimit = 64 << 10
        configuration.carrier = carrier
        return configuration
    }

    /// Closes all connections.
    func close() async {
        let clients = clients.withLock { clients in
            defer { clients = [:] }
            return clients.values.map(\.client)
        }
        for client in clients { await client.shutdown() }
    }
}
