internal import Encodings
internal import LosslessJSON

/// Checked base64 in a JSON string of a document.
///
/// The alphabet of RFC 4648, section 4, with padding. JSON may escape any character. Space, tab and line breaks, which
/// MIME writers add, are skipped.
///
/// - Note: Source: CouchDB 3.5 (Erlang's `base64:decode`) skips all four; Sync Gateway 4.1 (Go's `base64.StdEncoding`)
///   skips line breaks. Both refuse text without padding and the alphabet of base64url.
struct InlineBase64: Sendable, Equatable {
    /// The range between the string's quotes.
    let content: Range<Int>
    /// The number of decoded bytes.
    let byteCount: Int
    /// Whether ``content`` has only base64 characters and padding, no escapes or white space.
    let isPlain: Bool

    /// - Throws: ``InlineBase64Error``
    init(_ value: JSONValue) throws(InlineBase64Error) {
        guard value.kind == .string else { throw .notAString }
        let text = value.rawContent
        let padding = text.suffix(2).count { $0 == Base64Digits.padding }
        content = text.startIndex..<text.endIndex
        isPlain = Base64.areDigits(text.dropLast(padding))
        if isPlain {
            guard text.count.isMultiple(of: 4) else { throw .incomplete }
            byteCount = (text.count - padding) * 3 / 4
        } else {
            byteCount = try Self.byteCount(of: Base64Digits(value.text.bytes, content))
        }
    }

    private static func byteCount(of text: Base64Digits) throws(InlineBase64Error) -> Int {
        var text = text
        var digits = 0
        var padding = 0
        while let digit = text.next() {
            if digit == Base64Digits.padding {
                padding += 1
            } else if Base64.isDigit(digit), padding == 0 {
                digits += 1
            } else {
                throw digit == UInt8(ascii: "-") || digit == UInt8(ascii: "_") ? .otherAlphabet : .notBase64
            }
        }
        guard padding <= 2, digits % 4 != 1 else { throw .notBase64 }
        guard (digits + padding).isMultiple(of: 4) else { throw .incomplete }
        return digits * 3 / 4
    }

    /// The base64 on one line without white space, which every gateway accepts.
    ///
    /// - Parameter document: The text that the string is part of.
    func text(in document: [UInt8]) -> [UInt8] {
        guard !isPlain else { return Array(document[content]) }
        var text: [UInt8] = []
        text.reserveCapacity((byteCount + 2) / 3 * 4)
        var digits = Base64Digits(document, content)
        while let digit = digits.next() { text.append(digit) }
        return text
    }

    /// All decoded bytes.
    func bytes(in document: [UInt8]) -> [UInt8] { Self.bytes(of: text(in: document).span) }

    /// Decodes whole groups of four characters from checked text, which can't fail.
    static func bytes(of text: Span<UInt8>) -> [UInt8] { (try? Base64.decode(text)) ?? [] }
}

/// Why a JSON value is not base64 that gateways accept.
enum InlineBase64Error: Error, Equatable {
    case notAString
    case notBase64
    /// Its length, padding included, is not a multiple of four.
    case incomplete
    /// It is base64url (RFC 4648, section 5).
    case otherAlphabet
}

extension InlineBase64Error: CustomStringConvertible {
    var description: String {
        switch self {
        case .notAString: "not base64: not a string"
        case .notBase64: "not base64"
        case .incomplete: "not base64: its length is not a multiple of four, so padding ('=') or characters are missing"
        case .otherAlphabet: "base64url, which gateways refuse; write '+' for '-', '/' for '_', and the padding ('=')"
        }
    }
}
