import EmbeddedGateway
import Foundation
import GatewayClient
import HTTPTransport
import Logging
import LosslessJSON

/// The gateway for all cases of a run: the one that the environment names, or else one in this process.
///
/// `CHANGEBOT_TEST_GATEWAY` is the URL of a keyspace for tests; `_USER` and `_PASSWORD` are the credentials; `_KIND` is
/// `sync-gateway`, `couchdb` or `embedded`, with a version if necessary. The user must be allowed to write any document
/// there and to see all channels.
struct ConformanceServer: Sendable {
    let url: GatewayURL
    let kind: Kind
    /// Whether this is the administrator's port of a Sync Gateway, which has no users.
    let isAdministration: Bool
    let user: (name: String, password: String)?
    let http: HTTPClient

    /// Started by the first case, and used by all.
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

    /// A gateway in memory with one user, who sees all channels. It lives until the process ends.
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

    /// A new client for a keyspace of this server, which has only the address and the credentials.
    func client(on url: GatewayURL, usesSession: Bool = false) -> Gateway {
        var settings = GatewaySettings()
        settings.credentials = user.map { .basic(user: $0.name, password: $0.password) }
        settings.usesSession = usesSession
        return Gateway(url, settings: settings)
    }

    /// Sends one request, and reads the body of the answer.
    func send(_ request: HTTPRequest) async throws -> Reply { try await Reply(try await http.send(request)) }
}

struct UnknownServer: Error, CustomStringConvertible {
    let url: GatewayURL

    var description: String { "\(url): say in CHANGEBOT_TEST_GATEWAY_KIND what this is: it does not tell" }
}
