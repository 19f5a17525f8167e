import TestKit
import Testing

@testable import HTTPTransport

@Suite(.limitedParallelism) struct LinkLocalTests {
    @Test(
        arguments: [
            [169, 254, 169, 254], [169, 254, 0, 1], [100, 100, 100, 200],
            [0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0xFE, 0xBF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 169, 254, 169, 254],
            [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0, 169, 254, 169, 254],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 169, 254, 169, 254],
            [0x20, 0x02, 169, 254, 169, 254, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0xFD, 0, 0x0E, 0xC2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54],
        ] as [[UInt8]])
    func linkLocalAddressesAreRefused(address: [UInt8]) {
        #expect(LinkLocal.includes(address))
    }

    @Test(
        arguments: [
            [127, 0, 0, 1], [10, 0, 0, 1], [169, 253, 0, 1], [100, 100, 100, 201], [8, 8, 8, 8],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1], [0xFE, 0xC0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
            [0xFD, 0, 0x0E, 0xC2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x55],
            [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 127, 0, 0, 1],
        ] as [[UInt8]])
    func otherAddressesArePermitted(address: [UInt8]) {
        #expect(!LinkLocal.includes(address))
    }

    private static func client() -> HTTPClient {
        var configuration = HTTPClientConfiguration()
        configuration.connections.refusesLinkLocal = true
        configuration.connections.connectTimeout = .milliseconds(300)
        configuration.proxies = HTTPProxies()
        return HTTPClient(configuration: configuration)
    }

    /// Numbers in other notations are also addresses.
    @Test(arguments: ["169.254.169.254", "2852039166", "0xA9FEA9FE", "[fe80::1]", "[::ffff:169.254.169.254]"])
    func noConnectionIsAttempted(host: String) async {
        let error = await #expect(throws: HTTPTransportError.self) {
            try await Self.client().send(HTTPRequest(url: "http://\(host)/latest/meta-data/"))
        }
        #expect(error?.code == .addressRefused)
        #expect(error?.isRetryable == false)
        #expect(error?.message == "this host has a link-local address, which is refused")
    }

    /// A gateway may have such an address.
    @Test func otherClientsMayConnect() {
        #expect(!HTTPClientConfiguration().connections.refusesLinkLocal)
    }

    @Test func otherAddressesAreReached() async throws {
        let server = try TestServer { connection in
            _ = try connection.readRequest()
            try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        }
        let answer = try await Self.client().send(HTTPRequest(url: "http://127.0.0.1:\(server.port)/"))
        #expect(try await answer.body.collect(upTo: 10) == Array("ok".utf8))
    }
}
