internal import Encodings
internal import FoundationEssentials
internal import GatewayClient

/// The files of `--certificate-file` and `--key-file`. They are checked before the first request, because the TLS
/// library's error comes late and says little.
struct ClientCertificateFiles {
    let certificate: GatewaySettings.ClientCertificate

    /// The file with the key.
    var keyFile: String { certificate.keyFile ?? certificate.file }

    /// Nil if no certificate is set.
    ///
    /// - Throws: ``CommandError`` with 64, or 78 in a file, if the settings contradict each other; 66 if a file can't be
    ///   read, 78 if it has no certificate or no usable key.
    init?(_ options: AccessOptions, _ environment: Environment) throws(CommandError) {
        let key = options.keyFile ?? environment["key-file"]
        guard let file = options.certificateFile ?? environment["certificate-file"] else {
            guard key != nil else { return nil }
            throw environment.contradiction(
                options.keyFile == nil ? ["key-file"] : [],
                "--key-file is the key of a certificate: add "
                    + (environment.isInFile("key-file") ? "'certificate_file'" : "--certificate-file FILE")
                    + ", or remove it")
        }
        certificate = GatewaySettings.ClientCertificate(file: file, keyFile: key)
        try environment.checking("certificate-file", isFlag: options.certificateFile != nil) {
            () throws(CommandError) in try Self.checkCertificate(file)
        }
        let option = key == nil ? "certificate-file" : "key-file"
        let isFlag = (key == nil ? options.certificateFile : options.keyFile) != nil
        try environment.checking(option, isFlag: isFlag) { () throws(CommandError) in
            try Self.checkKey(key ?? file, option)
        }
    }

    private static func checkCertificate(_ path: String) throws(CommandError) {
        guard try !AuthorityFile.read(path, option: "certificate-file").holdsCertificate else { return }
        throw CommandError(
            .badConfiguration,
            "--certificate-file: there is no certificate in \(path): it must be a PEM file, with lines '-----BEGIN "
                + "CERTIFICATE-----'")
    }

    private static func checkKey(_ path: String, _ option: String) throws(CommandError) {
        let pem = try AuthorityFile.read(path, option: option)
        guard !pem.holdsEncryptedKey else {
            throw CommandError(
                .badConfiguration,
                "--\(option): the private key in \(path) is encrypted; remove its password with 'openssl pkey -in FILE -out "
                    + "FILE.new'")
        }
        guard pem.holdsPlainKey else {
            throw CommandError(
                .badConfiguration,
                "--\(option): there is no private key in \(path); name a PEM file with the line '-----BEGIN PRIVATE KEY-----' "
                    + "as --key-file")
        }
    }
}
