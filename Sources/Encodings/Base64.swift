internal import CCrypto

/// Base64 with padding, without line breaks (RFC 4648, section 4), as gateways encode attachments.
package enum Base64 {
    /// Bytes per call of OpenSSL: a multiple of three, so that the texts of the pieces can be joined.
    private static let pieceSize = 3 << 28

    /// Encodes all bytes.
    package static func encode(_ bytes: [UInt8]) -> [UInt8] {
        // One byte more than the text: OpenSSL ends it with a NUL.
        [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4 + 1) { text, count in
            bytes.withUnsafeBufferPointer { bytes in
                for start in stride(from: 0, to: bytes.count, by: pieceSize) {
                    let piece = bytes[start..<min(start + pieceSize, bytes.count)]
                    let from = UnsafeBufferPointer(rebasing: piece).baseAddress
                    let to = text.baseAddress.map { $0 + count }
                    count += Int(EVP_EncodeBlock(to, from, Int32(piece.count)))
                }
            }
        }
    }

    /// The same as a string.
    package static func text(_ bytes: [UInt8]) -> String { String(decoding: encode(bytes), as: UTF8.self) }

    /// Decodes a text. Line breaks are skipped; padding is required.
    ///
    /// - Throws: ``Base64Error`` with the place of the first invalid character, or the end of the text if it stops too
    ///   early.
    /// - Note: Source: Go's `encoding/base64`, `StdEncoding`.
    package static func decode(_ text: Span<UInt8>) throws(Base64Error) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        let values = Self.values
        var group = Group()
        var at = 0
        while at < text.count {
            if group.digits == 0 { at = decodeGroups(text, from: at, values, to: &bytes) }
            guard at < text.count else { break }
            let value = values[Int(text[at])]
            if value < 64 {
                if group.isFull(after: value) { group.end(to: &bytes) }
            } else if text[at] == UInt8(ascii: "=") {
                try group.checkPadding(text, from: at)
                group.end(to: &bytes)
                return bytes
            } else if !isLineBreak(text[at]) {
                throw Base64Error(offset: at)
            }
            at += 1
        }
        guard group.digits == 0 else { throw Base64Error(offset: at) }
        return bytes
    }

    /// The same for an array.
    package static func decode(_ text: [UInt8]) throws(Base64Error) -> [UInt8] { try decode(text.span) }

    /// Decodes groups of four digits up to the first other character.
    ///
    /// - Returns: The offset after them.
    private static func decodeGroups(
        _ text: Span<UInt8>, from start: Int, _ values: [UInt8], to bytes: inout [UInt8]
    ) -> Int {
        text.withUnsafeBufferPointer { text in
            values.withUnsafeBufferPointer { values in
                withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 3 * 1024) { piece in
                    guard let from = text.baseAddress, let values = values.baseAddress, let to = piece.baseAddress
                    else { return start }
                    var at = start
                    while true {
                        var count = 0
                        while count < piece.count, at + 4 <= text.count {
                            let first = values[Int(from[at])]
                            let second = values[Int(from[at + 1])]
                            let third = values[Int(from[at + 2])]
                            let fourth = values[Int(from[at + 3])]
                            guard first | second | third | fourth < 64 else { break }
                            to[count] = first << 2 | second >> 4
                            to[count + 1] = second << 4 | third >> 2
                            to[count + 2] = third << 6 | fourth
                            at += 4
                            count += 3
                        }
                        bytes.append(contentsOf: UnsafeBufferPointer(start: to, count: count))
                        guard count == piece.count else { return at }
                    }
                }
            }
        }
    }

    /// Whether a character is one of the 64.
    package static func isDigit(_ character: UInt8) -> Bool { values[Int(character)] < 64 }

    /// Whether all characters are digits. Fast, because it has no branch per character.
    package static func areDigits(_ characters: ArraySlice<UInt8>) -> Bool {
        let values = values
        return characters.withUnsafeBytes { characters in
            var others: UInt8 = 0
            for character in characters { others |= values[Int(character)] }
            return others < 64
        }
    }

    fileprivate static func isLineBreak(_ character: UInt8) -> Bool { character == 0x0A || character == 0x0D }

    /// The value of each character; 255 for characters that are not digits.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 255, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()
}

/// A group of up to four digits.
private struct Group {
    private(set) var digits = 0
    private var bits: UInt32 = 0

    mutating func isFull(after value: UInt8) -> Bool {
        bits = bits << 6 | UInt32(value)
        digits += 1
        return digits == 4
    }

    /// Appends the bytes of two, three or four digits.
    mutating func end(to bytes: inout [UInt8]) {
        bits <<= UInt32(6 * (4 - digits))
        for shift in [16, 8, 0].prefix(digits - 1) { bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(shift))) }
        self = Group()
    }

    /// - Parameter start: The offset of the first padding character.
    func checkPadding(_ text: Span<UInt8>, from start: Int) throws(Base64Error) {
        guard digits >= 2 else { throw Base64Error(offset: start) }
        var missing = 4 - digits
        for at in start..<text.count where !Base64.isLineBreak(text[at]) {
            guard text[at] == UInt8(ascii: "="), missing > 0 else { throw Base64Error(offset: at) }
            missing -= 1
        }
        guard missing == 0 else { throw Base64Error(offset: text.count) }
    }
}

/// A text is not valid base64.
package struct Base64Error: Error, Equatable {
    /// The place of the first invalid character, in bytes from the start of the text.
    package let offset: Int

    /// - Parameter offset: In bytes from the start of the text.
    package init(offset: Int) { self.offset = offset }
}

/// Encodes bytes that arrive in pieces. The returned texts, joined, are the base64 of all bytes.
package struct Base64Encoder {
    /// Up to two bytes that are not encoded yet.
    private var rest: [UInt8] = []

    /// For one sequence of pieces.
    package init() {}

    /// Encodes all complete groups of three bytes so far.
    package mutating func encode(_ piece: [UInt8]) -> [UInt8] {
        let bytes = rest.isEmpty ? piece : rest + piece
        let whole = bytes.count / 3 * 3
        rest = Array(bytes[whole...])
        return Base64.encode(rest.isEmpty ? bytes : Array(bytes[..<whole]))
    }

    /// Encodes the remaining bytes, with padding. Call it once, at the end.
    package func finish() -> [UInt8] { Base64.encode(rest) }
}
