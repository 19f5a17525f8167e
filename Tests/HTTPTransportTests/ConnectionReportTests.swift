import TestKit
import Testing

@testable import HTTPTransport

/// The report on a request's connection.
@Suite(.limitedParallelism) struct ConnectionReportTests {
    private func report(
        _ url: String, asks: Bool = true, isInsecure: Bool = false
    ) async throws -> HTTPConnectionReport? {
        var configuration = HTTPClientConfiguration()
        configuration.tls.isInsecure = isInsecure
        let client = HTTPClient(configuration: configuration)
        var request = HTTPRequest(url: url)
        request.reportsConnection = asks
        let response = try await client.send(request)
        await client.shutdown()
        return response.connection
    }

    @Test func plainConnectionIsReported() async throws {
        let server = try TestServer { connection in try connection.serve { _ in try connection.answer() } }
        let found = try #require(try await report(server.url()))
        #expect(found.address == "127.0.0.1" && found.port == server.port)
        #expect(found.certificates.isEmpty && found.connecting > .zero && found.connecting < .seconds(300))
        #expect(try await report(server.url(), asks: false) == nil)
    }

    @Test(.enabled(if: TestCertificate.openSSL != nil, "needs the openssl command"))
    func untrustedCertificatesAreReported() async throws {
        let server = try SecureTestServer(
            TestCertificate(for: "IP:127.0.0.2,DNS:gateway.example", isExpired: true))
        let found = try #require(try await report("https://127.0.0.1:\(server.port)/", isInsecure: true))
        let own = try #require(found.certificates.first)
        #expect(own.subject.contains("test") && own.issuer.contains("test"), "\(own)")
        #expect(own.names == ["127.0.0.2", "gateway.example"])
        // The year 2020.
        #expect(own.validFrom == 1_577_836_800 && own.expires == 1_609_459_200)
    }

    @Test func certificateFieldsAreRead() {
        let certificate = HTTPCertificate(fields: [
            "Subject:CN = a:b", "Issuer:O = x, CN = y", "X509v3 Subject Alternative Name:DNS:*.a.example, URI:x:y",
            "Start date:Nov  6 08:49:37 1994 GMT", "Expire date:in a hundred years",
        ])
        #expect(certificate.subject == "CN = a:b" && certificate.issuer == "O = x, CN = y")
        #expect(certificate.names == ["*.a.example"])
        #expect(certificate.validFrom == 784_111_777 && certificate.expires == nil)
        #expect(HTTPCertificate(fields: []).names.isEmpty)
    }

    @Test func librariesHaveVersions() {
        let versions = HTTPClient.libraryVersions
        #expect(versions.first?.hasPrefix("libcurl 7.") == true || versions.first?.hasPrefix("libcurl 8.") == true)
        #expect(versions.contains { $0.hasPrefix("OpenSSL ") } && versions.contains { $0.hasPrefix("zlib ") })
    }
}
