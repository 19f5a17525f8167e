import TestKit
import Testing

@testable import HTTPTransport

@Suite(
    .limitedParallelism, .enabled(if: TestCertificate.openSSL != nil, "needs the openssl command"))
struct TLSTests {
    private func send(
        to server: SecureTestServer, host: String = "127.0.0.1", set: (inout HTTPClientConfiguration.TLS) -> Void
    ) async throws(HTTPTransportError) -> Int {
        var configuration = HTTPClientConfiguration()
        set(&configuration.tls)
        let client = HTTPClient(configuration: configuration)
        let response = try await client.send(HTTPRequest(url: "https://\(host):\(server.port)/"))
        #expect(try await response.text().contains("Ciphers supported"))
        return response.status
    }

    private func expect(
        _ problem: HTTPTransportError.TLSProblem, words: String, from server: SecureTestServer, caFile: String? = nil
    ) async {
        let error = await #expect(throws: HTTPTransportError.self) {
            try await send(to: server) { $0.caFile = caFile }
        }
        #expect(error?.code == .tlsFailed(problem))
        #expect(error?.isRetryable == false)
        #expect(error?.message.contains(words) == true, "\(error?.message ?? "")")
    }

    @Test func selfSignedCertificateIsRefusedUnlessTrusted() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let server = try SecureTestServer(certificate)
        await expect(.unknownAuthority, words: "self-signed", from: server)
        #expect(try await send(to: server) { $0.caFile = certificate.file } == 200)
        #expect(try await send(to: server) { $0.isInsecure = true } == 200)
    }

    @Test func otherHostsCertificateIsRefused() async throws {
        let certificate = try TestCertificate(for: "DNS:elsewhere.example,IP:127.0.0.2")
        let server = try SecureTestServer(certificate)
        await expect(.wrongHost, words: "127.0.0.1", from: server, caFile: certificate.file)
        #expect(try await send(to: server) { $0.isInsecure = true } == 200)
    }

    @Test func expiredCertificateIsRefused() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1", isExpired: true)
        let server = try SecureTestServer(certificate)
        await expect(.outOfDate, words: "expired", from: server, caFile: certificate.file)
    }

    @Test func missingAuthorityFileIsReported() async throws {
        let server = try SecureTestServer(TestCertificate(for: "IP:127.0.0.1"))
        await expect(.authorityFile, words: "/no/such/file", from: server, caFile: "/no/such/file")
    }

    @Test func clientCertificateIsPresented() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let server = try SecureTestServer(certificate, client: certificate)
        await #expect(throws: HTTPTransportError.self) { try await send(to: server) { $0.isInsecure = true } }
        let status = try await send(to: server) { tls in
            tls.caFile = certificate.file
            tls.certificateFile = certificate.file
            tls.keyFile = certificate.keyFile
        }
        #expect(status == 200)
    }

    @Test func missingClientCertificateIsReported() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let server = try SecureTestServer(certificate)
        let error = await #expect(throws: HTTPTransportError.self) {
            try await send(to: server) { $0.certificateFile = "/no/such/file" }
        }
        #expect(error?.code == .tlsFailed(.clientCertificate))
        #expect(error?.isRetryable == false)
    }

    @Test func plainServerFailsTLS() async throws {
        let server = try TestServer { connection in
            _ = try connection.read(1)
            try connection.write("HTTP/1.1 400 Bad Request\r\n\r\n")
        }
        let error = await #expect(throws: HTTPTransportError.self) {
            try await HTTPClient().send(HTTPRequest(url: "https://127.0.0.1:\(server.port)/"))
        }
        #expect(error?.code == .tlsFailed(.notTLS))
    }

    /// In TLS, a write to a closed connection raises SIGPIPE, which would end the process.
    @Test func serverKilledDuringAnUploadRaisesNoSignal() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let server = try SecureTestServer(certificate, answers: false)
        var configuration = HTTPClientConfiguration()
        configuration.tls.caFile = certificate.file
        let client = HTTPClient(configuration: configuration)
        let segments = Array(repeating: [UInt8](repeating: 0x78, count: 1 << 20), count: 64)
        let request = HTTPRequest(
            method: "POST", url: "https://127.0.0.1:\(server.port)/", body: .segments(segments))
        let task = Task { try await client.send(request) }
        await server.waitForInput()
        server.kill()
        await #expect(throws: HTTPTransportError(.connectionClosed, "")) { try await task.value }
    }
}
