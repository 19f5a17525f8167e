/// `openssl s_server` on a free port: answers GET with a page, or prints what it is sent.
package final class SecureTestServer: Sendable {
    package let port: Int
    private let process: ChildProcess
    private let certificate: TestCertificate

    /// - Parameters:
    ///   - answers: Whether it answers; without, it reads and prints.
    ///   - client: Whose certificate it wants to see.
    package init(_ certificate: TestCertificate, answers: Bool = true, client: TestCertificate? = nil) throws {
        guard let openSSL = TestCertificate.openSSL else { throw SecureServerFault(description: "no openssl command") }
        self.certificate = certificate
        process = try ChildProcess(
            [openSSL, "s_server", "-accept", "127.0.0.1:0"]
                + ["-cert", certificate.file, "-key", certificate.keyFile] + (answers ? ["-www"] : [])
                + (client.map { ["-Verify", "1", "-verify_return_error", "-CAfile", $0.file] } ?? []))
        // "ACCEPT 127.0.0.1:43211"
        var line = process.blockForLine()
        while let other = line, !other.hasPrefix("ACCEPT") { line = process.blockForLine() }
        guard let port = line?.split(separator: ":").last.flatMap({ Int($0) }) else {
            throw SecureServerFault(description: "openssl s_server does not listen")
        }
        self.port = port
    }

    /// Waits until it has printed something that it was sent.
    package func waitForInput() async {
        await onThreadOfItsOwn { [process] in _ = process.blockForOutput(upTo: 1 << 16) }
    }

    /// Ends it without a farewell to its clients.
    package func kill() { process.kill() }
}
