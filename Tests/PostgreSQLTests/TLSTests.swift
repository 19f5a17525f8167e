import PostgreSQL
import TestKit
import Testing

@BlockingTests @Suite(.limitedParallelism) struct TLSTests {
    private static func connect(_ server: TestPostgres, _ query: String) throws -> PostgresConnection {
        let address = try PostgresAddress(server.url(query: "?" + query))
        return try PostgresConnection(address, password: nil)
    }

    private static let isSecure = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"

    @Test func certificateIsVerified() throws {
        let right = try TestCertificate(for: "IP:127.0.0.1")
        let server = try TestPostgres(certificate: right)
        let verified = try Self.connect(server, "sslmode=verify-full&sslrootcert=\(right.file)")
        #expect(try verified.run(Self.isSecure).rows == [[1]])
        #expect(try Self.connect(server, "sslmode=require").run(Self.isSecure).rows == [[1]])
        #expect(try Self.connect(server, "sslmode=prefer").run(Self.isSecure).rows == [[1]])
        #expect(try Self.connect(server, "sslmode=disable").run(Self.isSecure).rows == [[0]])

        let other = try TestCertificate(for: "IP:127.0.0.1")
        let unknown = [
            "sslmode=verify-full", "sslmode=verify-full&sslrootcert=system",
            "sslmode=verify-full&sslrootcert=\(other.file)", "sslmode=verify-full&sslrootcert=/nowhere",
        ]
        for query in unknown {
            let error = #expect(throws: PostgresError.self) { try Self.connect(server, query) }
            #expect(error?.name == "refused")
            #expect(error?.description.contains("sslrootcert") == true)
        }
    }

    @Test func hostNameIsVerified() throws {
        let certificate = try TestCertificate(for: "DNS:db.example")
        let server = try TestPostgres(certificate: certificate)
        let error = #expect(throws: PostgresError.self) {
            try Self.connect(server, "sslmode=verify-full&sslrootcert=\(certificate.file)")
        }
        #expect(error?.name == "refused")
        #expect(error?.description.contains("db.example") == true)
        let ca = try Self.connect(server, "sslmode=verify-ca&sslrootcert=\(certificate.file)")
        #expect(try ca.run(Self.isSecure).rows == [[1]])
    }

    @Test func serverWithoutTLSIsRefused() throws {
        let error = #expect(throws: PostgresError.self) {
            try Self.connect(TestPostgres.shared, "sslmode=verify-full")
        }
        #expect(error?.name == "refused")
        #expect(error?.description.contains("sslmode=disable") == true)
    }
}
