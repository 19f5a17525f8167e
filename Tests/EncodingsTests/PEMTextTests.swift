import Encodings
import Testing

@Suite struct PEMTextTests {
    private static func block(_ label: String, _ body: String = "MAA=") -> String {
        "-----BEGIN \(label)-----\n\(body)\n-----END \(label)-----\n"
    }

    /// 1: a certificate, 2: a key, 4: a key with a password.
    @Test(arguments: [
        ("", 0), ("-----BEGIN CERTIFICATE-----\nMAA=\n", 0), (block("CERTIFICATE"), 1), (block("X509 CERTIFICATE"), 1),
        ("a note\n" + block("CERTIFICATE", "MA\nA="), 1), (block("CERTIFICATE", "hello"), 0),
        (block("CERTIFICATE", "QUJD"), 0), (block("PRIVATE KEY"), 2), (block("EC PRIVATE KEY"), 2),
        (block("PUBLIC KEY"), 0), (block("CERTIFICATE") + block("RSA PRIVATE KEY"), 3),
        (block("ENCRYPTED PRIVATE KEY"), 4),
        (block("RSA PRIVATE KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nMAA="), 4),
    ])
    func fileContentIsRecognized(text: String, parts: Int) {
        let pem = PEMText(Array(text.utf8))
        let found =
            (pem.holdsCertificate ? 1 : 0) + (pem.holdsPlainKey ? 2 : 0) + (pem.holdsEncryptedKey ? 4 : 0)
        #expect(found == parts)
        #expect(!pem.looksLikeDER)
    }

    @Test func possibleDERIsRecognized() {
        #expect(PEMText([0x30, 0x82, 0x01, 0xFF]).looksLikeDER)
    }
}
