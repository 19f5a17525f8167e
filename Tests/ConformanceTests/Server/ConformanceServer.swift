import EmbeddedGateway
import Foundation
import GatewayClient
import HTTPTransport
import Logging
import LosslessJSON

/// The gateway that all cases of a run are put to: the one that the environment names, else one in this process.
///
/// `CHANGEBOT_TEST_GATEWAY` is the URL of a keyspace for tests; `_USER` and `_PASSWORD` say as whom, `_KIND` what it is:
/// `sync-gateway`, `couchdb` or `embedded`, with a version if need be. Whoever it is must be allowed to write any
/// document there and must see all channels.
struct ConformanceServer: Sendable {
    let url: GatewayURL
    let kind: Kind
    /// Whether this is the administrator's port of a Sync Gateway, where nobody is anybody in particular.
    let isAdministration: Bool
    let user: (name: String, password: String)?
    let http: HTTPClient

    /// Started when the first case asks for it, and used by all.
    static func shared() async throws -> ConformanceServer { try await started.value }

    private static let started = Task { () async throws -> ConformanceServer in
        let environment = ProcessInfo.processInfo.environment
        guard let address = environment["CHANGEBOT_TEST_GATEWAY"], !address.isEmpty else { return try await embedded() }
        let user = environment["CHANGEBOT_TEST_GATEWAY_USER"].map {
            (name: $0, password: environment["CHANGEBOT_TEST_GATEWAY_PASSWORD"] ?? "")
        }
        let kind = environment["CHANGEBOT_TEST_GATEWAY_KIND"].flatMap(Kind.init(setting:))
        return try await named(try GatewayURL(address), kind: kind, user: user)
    }

    private static func named(
        _ url: GatewayURL, kind: Kind?, user: (name: String, password: String)?
    ) async throws -> ConformanceServer {
        let http = HTTPClient()
        let response = try await http.send(HTTPRequest(url: "\(url.base)/", headers: [("Accept", "application/json")]))
        let reply = try await Reply(response)
        let found = Kind(
            vendor: reply["vendor"]?["name"]?.string, version: reply["version"]?.string,
            serverHeader: reply.headers["Server"])
        guard let kind = kind ?? found else { throw UnknownServer(url: url) }
        return ConformanceServer(
            url: url, kind: kind, isAdministration: reply["ADMIN"]?.bool == true, user: user, http: http)
    }

    /// A gateway in memory with one user, who sees all channels. It ends with the process.
    private static func embedded() async throws -> ConformanceServer {
        let user = (name: "conformance", password: "conformance")
        let users = """
            {"databases":{"todo":{"users":{"\(user.name)":{"password":"\(user.password)","admin_channels":["*"]}}}}}
            """
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        var configuration = EmbeddedGateway.Configuration(storage: .memory, logger: logger)
        configuration.users = try .parse(Array(users.utf8), database: "todo")
        let gateway = EmbeddedGateway(configuration)
        let url = try GatewayURL(try await gateway.start().url)
        return ConformanceServer(url: url, kind: .embedded, isAdministration: false, user: user, http: HTTPClient())
    }
}

extension ConformanceServer {
    var databaseURL: String { "\(url.base)/\(url.keyspace.database)" }

    var credentials: HTTPCredentials? { user.map { .basic(user: $0.name, password: $0.password) } }

    /// A client on a keyspace of this server, which knows nothing but the address and the user.
    func client(on url: GatewayURL, usesSession: Bool = false) -> Gateway {
        var settings = GatewaySettings()
        settings.credentials = user.map { .basic(user: $0.name, password: $0.password) }
        settings.usesSession = usesSession
        return Gateway(url, settings: settings)
    }

    /// One exchange, its body read to the end.
    func send(_ request: HTTPRequest) async throws -> Reply { try await Reply(try await http.send(request)) }
}

struct UnknownServer: Error, CustomStringConvertible {
    let url: GatewayURL

    var description: String { "\(url): say in CHANGEBOT_TEST_GATEWAY_KIND what this is: it does not tell" }
}
