import Foundation
import TestKit
import Testing

/// Which servers the program trusts. Each refusal gives the reason, and the exit code for an unreachable server (69).
@Suite(
    .limitedParallelism, .enabled(if: TestCertificate.openSSL != nil, "needs the openssl command"))
struct TrustTests {
    private func run(_ server: SecureTestServer, _ more: String...) async throws -> Program.Result {
        try await Program.withDirectory { state in
            try await Program.run(
                [
                    "run", "--once", "--gateway", "https://127.0.0.1:\(server.port)/todo", "--rules",
                    Program.pictureRules, "--state", state,
                ] + more, environment: ["CHANGEBOT_USER": "amy", "CHANGEBOT_PASSWORD": "hunter2"])
        }
    }

    @Test func untrustedCertificateIsRefused() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let server = try SecureTestServer(certificate)
        let refused = try await run(server)
        #expect(refused.code == 69)
        #expect(refused.errors.contains("self-signed") && refused.errors.contains("--ca-file"), "\(refused.errors)")
        // The server is trusted now: it serves a page for people.
        for trust in [["--ca-file", certificate.file], ["--insecure"]] {
            let result = try await run(server, trust[0], trust.count > 1 ? trust[1] : "--once")
            #expect(result.code == 76, "\(result.errors)")
            #expect(result.errors.contains("TLS certificates are not verified") == (trust[0] == "--insecure"))
        }
        let missing = try await run(server, "--ca-file", "/no/such/file")
        #expect(missing.code == 66 && missing.errors.contains("/no/such/file"), "\(missing.errors)")
    }

    @Test func otherHostsCertificateIsRefused() async throws {
        let certificate = try TestCertificate(for: "DNS:elsewhere.example")
        let result = try await run(try SecureTestServer(certificate), "--ca-file", certificate.file)
        #expect(result.code == 69)
        #expect(result.errors.contains("127.0.0.1") && result.errors.contains("certificate"), "\(result.errors)")
        #expect(!result.errors.contains("expired") && !result.errors.contains("self-signed"), "\(result.errors)")
    }

    /// The error comes before any request.
    @Test(arguments: [("", "no certificate"), ("-----BEGIN CERTIFICATE-----\nhello\n", "PEM"), ("\u{30}\u{2}", "PEM")])
    func fileWithoutACertificateIsReported(content: String, part: String) async throws {
        try await Program.withDirectory { folder in
            try Data(content.utf8).write(to: URL(fileURLWithPath: folder + "/ca.pem"))
            for (path, code) in [(folder + "/ca.pem", Int32(78)), (folder, 66)] {
                let result = try await Program.run([
                    "export", "--gateway", "https://127.0.0.1:1/todo", "--output", "-", "--ca-file", path,
                ])
                #expect(result.code == code && result.errors.contains(path), "\(result.errors)")
                if code == 78 { #expect(result.errors.contains(part), "\(result.errors)") }
            }
        }
    }

    /// A daemon waits for a gateway, but not if its URL has the wrong scheme.
    @Test(arguments: [["run", "--once"], ["run"], ["fix"], ["export"]])
    func plainHTTPToATLSPortIsReportedAtOnce(command: [String]) async throws {
        let server = try SecureTestServer(TestCertificate(for: "IP:127.0.0.1"))
        try await Program.withDirectory { folder in
            let rules =
                command == ["export"] ? ["--output", "-"] : ["--rules", Program.pictureRules, "--state", folder]
            let result = try await Program.run(
                command + ["--gateway", "http://127.0.0.1:\(server.port)/todo"] + rules)
            #expect(result.code == 69 && result.errors.contains("write https://"), "\(result.errors)")
        }
    }

    @Test func gatewayMayRequireACertificate() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1")
        let own = try TestCertificate(for: "DNS:bot")
        let server = try SecureTestServer(certificate, client: own)
        let refused = try await run(server, "--ca-file", certificate.file)
        #expect(refused.code == 69, "\(refused.errors)")
        #expect(refused.errors.contains("check --certificate-file and --key-file"), "\(refused.errors)")
        // The connection is made: the server answers with a page for people.
        let accepted = try await run(
            server, "--ca-file", certificate.file, "--certificate-file", own.file, "--key-file", own.keyFile)
        #expect(accepted.code == 76, "\(accepted.errors)")
        let doctor = try await Program.run([
            "doctor", "--gateway", "https://127.0.0.1:\(server.port)/todo", "--ca-file", certificate.file,
            "--certificate-file", own.file, "--key-file", own.keyFile,
        ])
        #expect((doctor.output + doctor.errors).contains("accepts connections"), "\(doctor.output)")
        #expect((doctor.output + doctor.errors).contains("is valid for 127.0.0.1"), "\(doctor.output)")
    }

    /// The errors come before any request.
    @Test func unusableClientCertificateIsReported() async throws {
        let own = try TestCertificate(for: "DNS:bot")
        for (url, options, code, message) in [
            (
                "https://127.0.0.1:1/todo", ["--key-file", own.keyFile], 64,
                "--key-file is the key of a certificate: add --cert"
            ),
            (
                "https://127.0.0.1:1/todo", ["--certificate-file", own.file], 78,
                "there is no private key in \(own.file)"
            ),
            (
                "https://127.0.0.1:1/todo", ["--certificate-file", own.keyFile], 78,
                "--certificate-file: there is no certificate in \(own.keyFile)"
            ),
            (
                "https://127.0.0.1:1/todo", ["--certificate-file", own.file, "--key-file", "/no/such/key"], 66,
                "--key-file: can't read /no/such/key"
            ),
            (
                "http://127.0.0.1:1/todo", ["--certificate-file", own.file, "--key-file", own.keyFile], 64,
                "a certificate has no meaning with http://: write https://"
            ),
        ] as [(String, [String], Int32, String)] {
            let result = try await Program.run(["export", "--gateway", url, "--output", "-"] + options)
            #expect(result.code == code && result.errors.contains(message), "\(result.errors)")
        }
    }

    @Test func expiredCertificateIsRefused() async throws {
        let certificate = try TestCertificate(for: "IP:127.0.0.1", isExpired: true)
        let result = try await run(try SecureTestServer(certificate), "--ca-file", certificate.file)
        #expect(result.code == 69)
        #expect(result.errors.contains("expired"), "\(result.errors)")
    }
}
