internal import HTTPTransport

/// The text of a response in UTF-8, whatever encoding the receiver used: UTF-8, UTF-16, Latin-1 or Windows-1252.
///
/// A byte order mark decides, then the `charset` of the `Content-Type`, then zero bytes (JSON in UTF-16 has them at its
/// beginning). Otherwise it is UTF-8.
///
/// - Note: Source: RFC 9110, section 8.3.2; RFC 4627, section 3; encoding.spec.whatwg.org, "Names and labels": what is
///   labelled Latin-1 or ASCII is Windows-1252.
struct ResponseText {
    /// Why the bytes are not text, for users.
    struct Failure: Error, Equatable {
        let reason: String
    }

    private enum Encoding: Equatable {
        case utf8, windows1252
        case utf16(isBigEndian: Bool)
    }

    private static let names: [String: Encoding] = [
        "utf-8": .utf8, "utf8": .utf8,
        "utf-16": .utf16(isBigEndian: true), "utf-16be": .utf16(isBigEndian: true),
        "utf-16le": .utf16(isBigEndian: false),
        "us-ascii": .windows1252, "ascii": .windows1252, "iso-8859-1": .windows1252, "iso8859-1": .windows1252,
        "iso_8859-1": .windows1252, "latin1": .windows1252, "latin-1": .windows1252, "windows-1252": .windows1252,
        "cp1252": .windows1252,
    ]

    /// In lower case; nil if the response does not name one.
    private let charset: String?
    /// Whether the `Content-Type` is one of images, archives and the like.
    private let mayBeBinary: Bool

    init(_ headers: HTTPHeaders) {
        let parts = (headers["Content-Type"] ?? "").lowercased().split(separator: ";").map { $0.filter { $0 != " " } }
        charset = parts.dropFirst().first { $0.hasPrefix("charset=") }
            .map { $0.dropFirst("charset=".count).filter { $0 != "\"" && $0 != "'" } }
        let type = parts.first ?? ""
        mayBeBinary =
            charset == nil && !type.isEmpty
            && !["text/", "json", "xml", "javascript", "urlencoded"].contains { type.contains($0) }
    }

    /// The text as UTF-8, without a byte order mark; empty if the response is binary.
    func decode(_ body: [UInt8]) throws(Failure) -> [UInt8] {
        guard let (encoding, skipped) = encoding(of: body) else {
            if body.isEmpty { return [] }
            throw Failure(reason: "it has the charset '\(charset ?? "")', which is not supported")
        }
        let content = body.dropFirst(skipped)
        if let text = Self.text(content, encoding) { return Array(text.utf8) }
        if mayBeBinary { return [] }
        throw Failure(reason: "it is not valid \(Self.name(encoding))")
    }

    /// The text for a message; invalid parts are replaced.
    func decodeBeginning(_ body: [UInt8]) -> [UInt8] {
        guard let (encoding, skipped) = encoding(of: body) else { return body }
        let content = body.dropFirst(skipped)
        switch encoding {
        case .utf8: return Array(content)
        case .utf16(let isBigEndian):
            return Array(String(decoding: Self.units(content, isBigEndian: isBigEndian), as: UTF16.self).utf8)
        case .windows1252: return Array((Self.text(content, encoding) ?? "").utf8)
        }
    }

    /// Nil if the charset is unknown.
    ///
    /// - Returns: Also the length of the byte order mark.
    private func encoding(of body: [UInt8]) -> (Encoding, skipped: Int)? {
        if body.starts(with: [0xEF, 0xBB, 0xBF]) { return (.utf8, 3) }
        if body.starts(with: [0xFF, 0xFE]) { return (.utf16(isBigEndian: false), 2) }
        if body.starts(with: [0xFE, 0xFF]) { return (.utf16(isBigEndian: true), 2) }
        let named: Encoding?
        if let charset {
            guard let known = Self.names[charset] else { return nil }
            named = known
        } else {
            named = nil
        }
        if body.count >= 2, named == nil || charset == "utf-16" {
            if body[0] != 0, body[1] == 0 { return (.utf16(isBigEndian: false), 0) }
            if body[0] == 0, body[1] != 0 { return (.utf16(isBigEndian: true), 0) }
        }
        return (named ?? .utf8, 0)
    }

    /// Nil if the bytes are not valid in this encoding.
    private static func text(_ bytes: ArraySlice<UInt8>, _ encoding: Encoding) -> String? {
        switch encoding {
        case .utf8: return String(validating: bytes, as: UTF8.self)
        case .utf16(let isBigEndian):
            guard bytes.count.isMultiple(of: 2) else { return nil }
            return String(validating: units(bytes, isBigEndian: isBigEndian), as: UTF16.self)
        case .windows1252:
            var text = String.UnicodeScalarView()
            for byte in bytes {
                let isSpecial = (0x80...0x9F).contains(byte)
                text.append(isSpecial ? windows1252[Int(byte) - 0x80] : Unicode.Scalar(byte))
            }
            return String(text)
        }
    }

    private static func units(_ bytes: ArraySlice<UInt8>, isBigEndian: Bool) -> [UInt16] {
        let bytes = Array(bytes)
        return stride(from: 0, to: bytes.count - 1, by: 2).map { index in
            let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
            return isBigEndian ? first << 8 | second : second << 8 | first
        }
    }

    private static func name(_ encoding: Encoding) -> String {
        switch encoding {
        case .utf8: "UTF-8"
        case .utf16: "UTF-16"
        case .windows1252: "Windows-1252"
        }
    }

    /// The characters of the bytes 0x80 to 0x9F. Those without a character remain control characters.
    private static let windows1252 =
        Array(
            "\u{20AC}\u{81}\u{201A}\u{192}\u{201E}\u{2026}\u{2020}\u{2021}\u{2C6}\u{2030}\u{160}\u{2039}\u{152}\u{8D}\u{17D}\u{8F}"
                .unicodeScalars)
        + Array(
            "\u{90}\u{2018}\u{2019}\u{201C}\u{201D}\u{2022}\u{2013}\u{2014}\u{2DC}\u{2122}\u{161}\u{203A}\u{153}\u{9D}\u{17E}\u{178}"
                .unicodeScalars)
}
