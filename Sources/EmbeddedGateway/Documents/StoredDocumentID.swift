internal import Encodings

/// Rules for document ids, which are strings here.
enum StoredDocumentID {
    /// - Note: Source: recorded, 250 bytes are accepted and 251 are not.
    static func isValid(_ id: String) -> Bool {
        !id.isEmpty && id.utf8.count <= 250 && !id.hasPrefix("_") && !id.utf8.contains(0)
    }

    /// A new id of 128 random bits.
    static func make() -> String { (0..<16).map { _ in UInt8.random(in: .min ... .max) }.hex }

    /// Percent-encoded as one segment of a path.
    static func inPath(_ id: String) -> String {
        id.utf8.reduce(into: "") { text, byte in
            let scalar = Unicode.Scalar(byte)
            let plain = byte < 0x80 && (scalar.properties.isAlphabetic || (0x30...0x39).contains(byte))
            if plain || "-._~".utf8.contains(byte) {
                text.unicodeScalars.append(scalar)
            } else {
                text += "%" + [byte].hex.uppercased()
            }
        }
    }
}
