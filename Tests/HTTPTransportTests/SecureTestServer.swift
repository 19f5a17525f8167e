import Foundation
import TestKit
import Testing

/// A certificate that has signed itself, fresh for one test, in a folder of its own.
final class TestCertificate: Sendable {
    /// Names that only tests have; skipping them has to be said aloud.
    static let openSSL = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first(
        where: FileManager.default.isExecutableFile(atPath:))

    let folder: URL
    var file: String { folder.appending(path: "certificate.pem").path }
    var keyFile: String { folder.appending(path: "key.pem").path }

    /// - Parameter subjectNames: What it is good for, such as `IP:127.0.0.1`.
    init(for subjectNames: String, isExpired: Bool = false) throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "tls-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let request = folder.appending(path: "request.pem").path
        let settings = folder.appending(path: "settings").path
        try """
        [ca]
        default_ca = this
        [this]
        dir = \(folder.path)
        database = $dir/index
        new_certs_dir = $dir
        rand_serial = yes
        default_md = sha256
        policy = any
        [any]
        commonName = supplied
        [names]
        subjectAltName = \(subjectNames)
        basicConstraints = critical,CA:TRUE
        """.write(toFile: settings, atomically: true, encoding: .utf8)
        try Data().write(to: folder.appending(path: "index"))
        try Self.run(
            ["req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=test", "-keyout", keyFile, "-out", request])
        let years = isExpired ? ("20200101000000Z", "20210101000000Z") : ("20200101000000Z", "20900101000000Z")
        try Self.run(
            ["ca", "-batch", "-notext", "-selfsign", "-config", settings, "-extensions", "names"]
                + ["-keyfile", keyFile, "-in", request, "-out", file, "-startdate", years.0, "-enddate", years.1])
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private static func run(_ arguments: [String]) throws {
        let status = try ChildProcess([try #require(openSSL)] + arguments).wait()
        guard status == 0 else { throw TestFault("openssl \(arguments[0])") }
    }
}

/// `openssl s_server` on a free port: answers GET with a page, or prints what it is sent.
final class SecureTestServer: Sendable {
    let port: Int
    private let process: ChildProcess
    private let certificate: TestCertificate

    /// - Parameters:
    ///   - answers: Whether it answers; without, it reads and prints.
    ///   - client: Whose certificate it wants to see.
    init(_ certificate: TestCertificate, answers: Bool = true, client: TestCertificate? = nil) throws {
        self.certificate = certificate
        process = try ChildProcess(
            [try #require(TestCertificate.openSSL), "s_server", "-accept", "127.0.0.1:0"]
                + ["-cert", certificate.file, "-key", certificate.keyFile] + (answers ? ["-www"] : [])
                + (client.map { ["-Verify", "1", "-verify_return_error", "-CAfile", $0.file] } ?? []))
        // "ACCEPT 127.0.0.1:43211"
        var line = process.readLine()
        while let other = line, !other.hasPrefix("ACCEPT") { line = process.readLine() }
        port = try #require(line?.split(separator: ":").last.flatMap { Int($0) })
    }

    /// Blocks until it has printed something that it was sent.
    func waitForInput() { _ = process.read(upTo: 1 << 16) }

    /// Ends it without a farewell to its clients.
    func kill() { process.kill() }
}
