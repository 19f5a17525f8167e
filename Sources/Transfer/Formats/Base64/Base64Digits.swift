/// The characters of base64 within a JSON string, one after the other: escapes resolved, white space skipped.
struct Base64Digits {
    static let padding = UInt8(ascii: "=")
    /// Given out for a character that is not ASCII, or that no escape should spell here.
    private static let other: UInt8 = 0xFF

    private let document: [UInt8]
    private let end: Int
    /// Where the next character is spelled.
    private(set) var place: Int

    /// - Parameter content: Between the string's quotes. It must be JSON.
    init(_ document: [UInt8], _ content: Range<Int>) {
        self.document = document
        place = content.lowerBound
        end = content.upperBound
    }

    /// The next character that is no white space; nil at the end.
    mutating func next() -> UInt8? {
        while place < end {
            let byte = document[place]
            let character = byte == UInt8(ascii: "\\") ? escaped() : byte
            if byte != UInt8(ascii: "\\") { place += 1 }
            if character == 0x20 || character == 0x09 || character == 0x0A || character == 0x0D { continue }
            return character
        }
        return nil
    }

    private mutating func escaped() -> UInt8 {
        let kind = document[place + 1]
        guard kind == UInt8(ascii: "u") else {
            place += 2
            return switch kind {
            case UInt8(ascii: "/"): UInt8(ascii: "/")
            case UInt8(ascii: "n"): 0x0A
            case UInt8(ascii: "r"): 0x0D
            case UInt8(ascii: "t"): 0x09
            default: Self.other
            }
        }
        let digits = String(decoding: document[place + 2..<place + 6], as: UTF8.self)
        place += 6
        return UInt16(digits, radix: 16).flatMap { $0 < 0x80 ? UInt8($0) : nil } ?? Self.other
    }
}

extension Base64Digits {
    /// By character; 64 for what is no digit.
    private static let values: [UInt8] = {
        var values = [UInt8](repeating: 64, count: 256)
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        for (value, character) in alphabet.utf8.enumerated() { values[Int(character)] = UInt8(value) }
        return values
    }()

    static func isDigit(_ character: UInt8) -> Bool { values[Int(character)] < 64 }

    static func areDigits(_ characters: ArraySlice<UInt8>) -> Bool {
        let values = values
        return characters.withUnsafeBytes { characters in
            // Without a branch for each: megabytes are looked at.
            var strangers = 0
            for character in characters { strangers &+= Int(values[Int(character)] >> 6) }
            return strangers == 0
        }
    }

    /// The bytes of whole groups of four.
    ///
    /// - Parameter text: Digits; padding at the end only. What it stands for must have been checked.
    static func decode(_ text: Span<UInt8>) -> [UInt8] {
        let values = values
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 4 * 3)
        var at = 0
        while at + 4 <= text.count {
            var group: UInt32 = 0
            var digits = 0
            for index in at..<at + 4 {
                let value = values[Int(text[index])]
                group = group << 6 | UInt32(value & 63)
                if value < 64 { digits += 1 }
            }
            bytes.append(UInt8(truncatingIfNeeded: group >> 16))
            if digits > 2 { bytes.append(UInt8(truncatingIfNeeded: group >> 8)) }
            if digits > 3 { bytes.append(UInt8(truncatingIfNeeded: group)) }
            at += 4
        }
        return bytes
    }
}
