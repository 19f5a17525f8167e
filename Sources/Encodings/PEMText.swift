/// The content of a PEM file, as far as its labels and their blocks show it.
///
/// - Note: Source: RFC 7468; RFC 1421 for keys with the old encryption.
package struct PEMText: Sendable {
    private static let certificateLabels = ["CERTIFICATE", "X509 CERTIFICATE", "TRUSTED CERTIFICATE"]
    private static let keyLabels = ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY"]
    private static let encryptedKeyLabel = "ENCRYPTED PRIVATE KEY"

    private let text: String
    /// Whether the file is not PEM, but may be DER: a certificate or key is one ASN.1 sequence there.
    package let looksLikeDER: Bool

    /// - Parameter bytes: The content of the file.
    package init(_ bytes: [UInt8]) {
        text = String(decoding: bytes, as: UTF8.self)
        looksLikeDER = bytes.starts(with: [0x30, 0x82])
    }

    package var holdsCertificate: Bool { Self.certificateLabels.contains(where: holdsSequence) }

    /// Whether there is a private key that can be used without a password.
    package var holdsPlainKey: Bool { Self.keyLabels.contains(where: holdsSequence) }

    /// Whether there is a private key that needs a password.
    package var holdsEncryptedKey: Bool {
        body(Self.encryptedKeyLabel) != nil || Self.keyLabels.contains { body($0)?.contains("4,ENCRYPTED") == true }
    }

    /// Whether the first block with this label is base64 of an ASN.1 sequence.
    private func holdsSequence(_ label: String) -> Bool {
        guard let body = body(label) else { return false }
        let digits = Array(body.utf8.filter { ![0x20, 0x09, 0x0A, 0x0D].contains($0) })
        return (try? Base64.decode(digits))?.first == 0x30
    }

    /// The text between the first lines with this label; nil if there are none.
    private func body(_ label: String) -> Substring? {
        guard let begin = text.firstRange(of: "-----BEGIN \(label)-----"),
            let end = text[begin.upperBound...].firstRange(of: "-----END \(label)-----")
        else { return nil }
        return text[begin.upperBound..<end.lowerBound]
    }
}
