/// The characters of URIs.
///
/// - Note: Source: RFC 3986, sections 2 and 3.
enum URIText {
    private static let punctuation = Set("-._~:/?#[]@!$&'()*+,;=".utf8)
    /// The characters of a path and a query: without `#`, `[` and `]`.
    private static let pathPunctuation = Set("-._~:/?@!$&'()*+,;=".utf8)

    /// Whether the text has only URI characters, and each `%` begins an encoded byte.
    static func isReference(_ text: String) -> Bool { firstInvalid(text, punctuation) == nil }

    /// The first character that can't be in a path with a query. Nil if there is none.
    static func firstInvalidInPath(_ text: String) -> String? { firstInvalid(text, pathPunctuation) }

    private static func firstInvalid(_ text: String, _ punctuation: Set<UInt8>) -> String? {
        var encoded = 0
        for scalar in text.unicodeScalars {
            guard scalar.isASCII else { return String(scalar) }
            let byte = UInt8(scalar.value)
            if encoded > 0 {
                guard isHexadecimal(byte) else { return "%" }
                encoded -= 1
            } else if byte == UInt8(ascii: "%") {
                encoded = 2
            } else if !isUnreserved(byte), !punctuation.contains(byte) {
                return String(scalar)
            }
        }
        return encoded > 0 ? "%" : nil
    }

    /// The value of a `ce-` header: printable ASCII without space, `"` and `%`. Other characters are percent-encoded.
    ///
    /// - Note: Source: CloudEvents 1.0.2, HTTP protocol binding, section 3.1.3.2.
    static func headerValue(_ text: String) -> String {
        var result: [UInt8] = []
        for byte in text.utf8 {
            if (0x21...0x7E).contains(byte), byte != UInt8(ascii: "\""), byte != UInt8(ascii: "%") {
                result.append(byte)
            } else {
                result.append(UInt8(ascii: "%"))
                result += [byte >> 4, byte & 15].map { $0 < 10 ? 0x30 + $0 : 0x37 + $0 }
            }
        }
        return String(decoding: result, as: UTF8.self)
    }

    private static func isUnreserved(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: "-._~".utf8.contains(byte)
        }
    }

    private static func isHexadecimal(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x46, 0x61...0x66: true
        default: false
        }
    }
}
