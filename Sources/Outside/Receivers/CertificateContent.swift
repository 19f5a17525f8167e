internal import Encodings
internal import Rules

/// Checks the certificate and key files that rules name. The TLS library would report a bad file only when it connects,
/// and only briefly.
enum CertificateContent {
    private static let lengthLimit = 8 << 20

    /// - Throws: ``SecretContent/UnusableSecret`` if the TLS library could not use it.
    static func check(_ file: CertificateFile) throws(SecretContent.UnusableSecret) {
        let pem = try read(file.path)
        guard pem.holdsCertificate else {
            throw SecretContent.UnusableSecret(
                message: "there is no certificate in \(file.path), a certificate file of a rule; "
                    + (pem.looksLikeDER
                        ? "it looks like DER: convert it with openssl x509 -inform der -in FILE -out FILE.pem"
                        : "it must be a PEM file, with lines '-----BEGIN CERTIFICATE-----'"))
        }
        guard case .own(let path) = file.kind else { return }
        let key = path == file.path ? pem : try read(path)
        guard !key.holdsEncryptedKey else {
            throw SecretContent.UnusableSecret(
                message: "the private key in \(path) is encrypted, and rules can't give its password; remove the "
                    + "password with openssl pkey -in FILE -out FILE.new")
        }
        guard key.holdsPlainKey else {
            throw SecretContent.UnusableSecret(
                message: "there is no private key in \(path), a key file of a rule; set key_file to a PEM file with "
                    + "the line '-----BEGIN PRIVATE KEY-----'")
        }
    }

    private static func read(_ path: String) throws(SecretContent.UnusableSecret) -> PEMText {
        guard SecretContent.Version(of: path) != nil, let bytes = FilePath.read(path, limit: lengthLimit) else {
            throw SecretContent.UnusableSecret(
                message:
                    "can't read \(path), a certificate or key file of a rule; correct the path in the rule file, or "
                    + "the permissions")
        }
        return PEMText(bytes)
    }
}
