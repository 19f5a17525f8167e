/// `openssl s_server` on a free loopback port: answers GET with a page, or prints what it receives.
package final class SecureTestServer: Sendable {
    /// The port on 127.0.0.1 that it listens on.
    package let port: Int
    private let process: ChildProcess
    private let certificate: TestCertificate

    /// - Parameters:
    ///   - answers: Whether it answers GET with a page; if not, it prints what it receives.
    ///   - client: The certificate that clients must present; nil asks for none.
    /// - Throws: ``SecureServerError`` if there is no `openssl` or it does not listen.
    package init(_ certificate: TestCertificate, answers: Bool = true, client: TestCertificate? = nil) throws {
        guard let openSSL = TestCertificate.openSSL else { throw SecureServerError(description: "no openssl command") }
        self.certificate = certificate
        process = try ChildProcess(
            [openSSL, "s_server", "-accept", "127.0.0.1:0"]
                + ["-cert", certificate.file, "-key", certificate.keyFile] + (answers ? ["-www"] : [])
                + (client.map { ["-Verify", "1", "-verify_return_error", "-CAfile", $0.file] } ?? []))
        // "ACCEPT 127.0.0.1:43211"
        var line = process.blockForLine()
        while let other = line, !other.hasPrefix("ACCEPT") { line = process.blockForLine() }
        guard let port = line?.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw SecureServerError(description: "openssl s_server does not listen")
        }
        self.port = port
    }

    /// Waits until it has printed something.
    package func waitForInput() async {
        await onNewThread { [process] in _ = process.blockForOutput(upTo: 1 << 16) }
    }

    /// Kills the server, without a TLS `close_notify` to its clients.
    package func kill() { process.kill() }
}
