import Locking
import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism) struct ProxyTests {
    private static func client(http: String? = nil, https: String? = nil, exceptions: String = "") -> HTTPClient {
        var configuration = HTTPClientConfiguration()
        configuration.proxies = HTTPProxies()
        (configuration.proxies.http, configuration.proxies.https) = (http, https)
        configuration.proxies.exceptions = exceptions
        return HTTPClient(configuration: configuration)
    }

    /// Answers with the request's target and headers.
    private static func proxy() throws -> TestServer {
        try TestServer { connection in
            try connection.serve { request in
                let login = request.values(of: "proxy-authorization").joined()
                try connection.answer(body: "\(request.method) \(request.target) \(login)")
            }
        }
    }

    @Test func proxyReceivesWholeRequest() async throws {
        let proxy = try Self.proxy()
        let client = Self.client(http: "http://127.0.0.1:\(proxy.port)")
        let response = try await client.send(HTTPRequest(url: "http://gateway.example:4984/todo/?a=b"))
        #expect(try await response.text() == "GET http://gateway.example:4984/todo/?a=b ")
    }

    @Test func proxyPasswordIsSentOnlyToProxy() async throws {
        let proxy = try Self.proxy()
        let client = Self.client(http: "http://amy:s3cret@127.0.0.1:\(proxy.port)")
        let response = try await client.send(HTTPRequest(url: "http://gateway.example/"))
        #expect(try await response.text() == "GET http://gateway.example/ Basic YW15OnMzY3JldA==")
        let gateway = try Self.proxy()
        #expect(try await client.send(HTTPRequest(url: gateway.url())).text() == "GET / ")
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func loopbackIsReachedDirectly(host: String) async throws {
        let (proxy, gateway) = (try Self.proxy(), try Self.proxy())
        let client = Self.client(http: "http://127.0.0.1:\(proxy.port)", exceptions: "example.org")
        let response = try await client.send(HTTPRequest(url: "http://\(host):\(gateway.port)/todo/"))
        #expect(try await response.text() == "GET /todo/ ")
        #expect(proxy.accepted.count == 0)
    }

    /// The host names do not exist, so a request that does not go to the proxy fails.
    @Test(arguments: [
        ("", true), ("other.invalid", true), ("gateway.invalid", false), ("invalid", false), (".invalid", false),
        ("other.invalid, gateway.invalid", false), ("*", false), ("way.invalid", true),
    ])
    func exceptionsAreReachedDirectly(exceptions: String, isHandedOver: Bool) async throws {
        let proxy = try Self.proxy()
        let client = Self.client(http: "127.0.0.1:\(proxy.port)", exceptions: exceptions)
        let request = HTTPRequest(url: "http://gateway.invalid/")
        if isHandedOver {
            #expect(try await client.send(request).status == 200)
        } else {
            let error = await #expect(throws: HTTPTransportError.self) { try await client.send(request) }
            #expect(error?.code == .cannotResolve)
        }
        #expect(proxy.accepted.count == (isHandedOver ? 1 : 0))
    }

    @Test func httpsUsesTunnel() async throws {
        let asked = Monitor("")
        let proxy = try TestServer { connection in
            try connection.serve { request in
                asked.with { $0 = "\(request.method) \(request.target)" }
                try connection.answer(403, body: "no")
            }
        }
        let client = Self.client(http: "http://127.0.0.1:1", https: "http://amy:s3cret@127.0.0.1:\(proxy.port)")
        let error = await #expect(throws: HTTPTransportError.self) {
            try await client.send(HTTPRequest(url: "https://gateway.example/todo/?a=secret"))
        }
        #expect(error?.code == .cannotConnect, "\(String(describing: error))")
        #expect(asked.with { $0 } == "CONNECT gateway.example:443")
        #expect(error?.description.contains("s3cret") == false && error?.description.contains("403") == true)
    }

    @Test func unreachableProxyIsNamedWithoutPassword() async throws {
        let proxy = try Self.proxy()
        proxy.stop()
        for address in ["http://amy:s3cret@127.0.0.1:\(proxy.port)", "http://amy:s3cret@proxy.invalid:1"] {
            let error = await #expect(throws: HTTPTransportError.self) {
                try await Self.client(http: address).send(HTTPRequest(url: "http://gateway.example/"))
            }
            #expect(error?.isRetryable == true)
            #expect(error?.description.contains("s3cret") == false)
        }
    }

    @Test(
        arguments: [
            (["http_proxy": "a", "https_proxy": "b", "no_proxy": "c"], "a", "b", "c"),
            (["HTTP_PROXY": "a", "HTTPS_PROXY": "b", "NO_PROXY": "c"], nil, "b", "c"),
            (["all_proxy": "a"], "a", "a", ""), (["ALL_PROXY": "a", "https_proxy": "b"], "a", "b", ""),
            (["http_proxy": "", "all_proxy": "a"], "a", "a", ""), ([:], nil, nil, ""),
            (["https_proxy": "b", "HTTPS_PROXY": "c", "no_proxy": "d", "NO_PROXY": "e"], nil, "b", "d"),
        ] as [([String: String], String?, String?, String)])
    func environmentIsReadAsByCurl(
        environment: [String: String], http: String?, https: String?, exceptions: String
    ) {
        let proxies = HTTPProxies { environment[$0] }
        #expect(proxies.http == http && proxies.https == https && proxies.exceptions == exceptions)
    }

    @Test func proxyIsNeverPrinted() {
        let proxies = HTTPProxies { $0 == "all_proxy" ? "http://amy:s3cret@proxy" : nil }
        var dumped = ""
        dump(proxies, to: &dumped)
        #expect(!"\(proxies) \(String(reflecting: proxies)) \(dumped)".contains("s3cret"))
    }
}
