import TestKit
import Testing

@testable import GatewayClient

/// `http` for a TLS port, and the reverse, are reported immediately with the right address.
@Suite(.limitedParallelism) struct SchemeTests {
    @Test(.enabled(if: TestCertificate.openSSL != nil, "needs the openssl command"))
    func plainHTTPToTLSPortIsReported() async throws {
        let server = try SecureTestServer(TestCertificate(for: "IP:127.0.0.1"))
        let gateway = Gateway(try GatewayURL("http://127.0.0.1:\(server.port)/todo"))
        let error = await #expect(throws: GatewayError.self) { try await gateway.databaseInfo() }
        #expect(error?.code == .tlsFailed)
        #expect(error?.message.contains("write https://") == true, "\(error as Any)")
    }

    /// Servers answer a TLS handshake with a page, or hang up.
    @Test(arguments: ["HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", ""])
    func tlsToPlainPortIsReported(answer: String) async throws {
        let server = try TestServer { connection in
            guard try connection.read(1) != [0x16] else { return try connection.write(answer) }
            _ = try connection.readHead()
            try connection.answer(body: #"{"couchdb":"Welcome"}"#)
        }
        let gateway = Gateway(try GatewayURL("https://127.0.0.1:\(server.port)/todo"))
        let error = await #expect(throws: GatewayError.self) { try await gateway.databaseInfo() }
        #expect(error?.code == .tlsFailed)
        #expect(error?.message.contains("write http://") == true, "\(error as Any)")
    }

    /// The port is tried again without credentials, and only by a client that never had a proper answer.
    @Test func disconnectingServerIsReportedAsSuch() async throws {
        let asked = EventCounter()
        let server = try TestServer { connection in
            if try connection.read(1) == [0x47] { asked.increment() }
        }
        let gateway = Gateway(try GatewayURL(server.url("/todo")))
        let error = await #expect(throws: GatewayError.self) { try await gateway.databaseInfo() }
        #expect(error?.code == .connectionLost)
        #expect(asked.count == 1)
    }

    @Test(.enabled(if: TestCertificate.openSSL != nil, "needs the openssl command"))
    func unknownAuthorityErrorNamesOption() async throws {
        let server = try SecureTestServer(TestCertificate(for: "IP:127.0.0.1"))
        let gateway = Gateway(try GatewayURL("https://127.0.0.1:\(server.port)/todo"))
        let error = await #expect(throws: GatewayError.self) { try await gateway.databaseInfo() }
        #expect(error?.code == .tlsFailed)
        #expect(error?.message.contains("--ca-file") == true, "\(error as Any)")
    }

    @Test(arguments: [(301, "another.example/x"), (414, "URL as too long"), (431, "header as too long")])
    func foreignAnswerIsExplained(status: Int, part: String) async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.answer(status, headers: ["Location: https://another.example/x?secret"])
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .malformedAnswer)
        #expect(error?.message.contains(part) == true && error?.message.contains("secret") == false)
    }

    /// Regression: an endless header was treated as a document that is too large, and bulk writes were halved for it.
    @Test func endlessHeaderDoesNotConcernDocuments() async throws {
        let scripted = try ScriptedGateway { connection, _ in
            try connection.write("HTTP/1.1 200 OK\r\n")
            while true { try connection.write(String(repeating: "X: y\r\n", count: 250)) }
        }
        let error = await #expect(throws: GatewayError.self) { try await scripted.gateway.databaseInfo() }
        #expect(error?.code == .malformedAnswer)
        #expect(error?.message.contains("header of the answer is too long") == true)
    }
}
