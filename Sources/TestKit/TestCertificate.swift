internal import Foundation

/// A new self-signed certificate (ECDSA on P-256) in a temporary folder that is removed with this object.
package final class TestCertificate: Sendable {
    /// The path of the `openssl` command; nil if it is not installed. A test that is skipped for this reason must say
    /// so.
    package static let openSSL = ["/usr/bin/openssl", "/usr/local/bin/openssl"].first(
        where: FileManager.default.isExecutableFile(atPath:))

    private let folder: URL
    /// The path of the certificate, PEM.
    package var file: String { folder.appending(path: "certificate.pem").path }
    /// The path of the private key, PEM, not encrypted.
    package var keyFile: String { folder.appending(path: "key.pem").path }

    /// - Parameters:
    ///   - subjectNames: The `subjectAltName`, such as `IP:127.0.0.1`.
    ///   - isExpired: Whether it is valid for 2020 only, instead of 2020 to 2089.
    /// - Throws: ``SecureServerError`` if there is no `openssl` or it fails; file errors.
    package init(for subjectNames: String, isExpired: Bool = false) throws {
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
            ["req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=test"]
                + ["-keyout", keyFile, "-out", request])
        let years = isExpired ? ("20200101000000Z", "20210101000000Z") : ("20200101000000Z", "20900101000000Z")
        try Self.run(
            ["ca", "-batch", "-notext", "-selfsign", "-config", settings, "-extensions", "names"]
                + ["-keyfile", keyFile, "-in", request, "-out", file, "-startdate", years.0, "-enddate", years.1])
    }

    deinit {
        try? FileManager.default.removeItem(at: folder)
    }

    private static func run(_ arguments: [String]) throws {
        guard let openSSL else { throw SecureServerError(description: "no openssl command") }
        let status = try ChildProcess([openSSL] + arguments).blockUntilEnd()
        guard status == 0 else { throw SecureServerError(description: "openssl \(arguments[0]) ended with \(status)") }
    }
}

/// A secure test server or its certificate could not be made.
package struct SecureServerError: Error, CustomStringConvertible {
    /// What failed, as one line.
    package let description: String
}
