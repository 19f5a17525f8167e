/// Text with strings as Go's `%q` writes them. It differs from JSON for non-printable characters.
///
/// - Note: Source: Sync Gateway 4.1 writes document ids this way in its answer to `_revs_diff`; `strconv.Quote` of Go
///   1.22.
enum GoQuotedText {
    /// Converts the escapes that JSON lacks: `\a`, `\v`, `\x` with two digits and `\U` with eight.
    static func asJSON(_ text: [UInt8]) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            guard text[index] == UInt8(ascii: "\\"), index + 1 < text.count else {
                output.append(text[index])
                index += 1
                continue
            }
            let kind = text[index + 1]
            index += 2
            switch kind {
            case UInt8(ascii: "a"): output += "\\u0007".utf8
            case UInt8(ascii: "v"): output += "\\u000b".utf8
            case UInt8(ascii: "x"), UInt8(ascii: "U"):
                let digits = text[index...].prefix(kind == UInt8(ascii: "x") ? 2 : 8)
                index += digits.count
                let number = UInt32(String(decoding: digits, as: UTF8.self), radix: 16)
                guard let scalar = number.flatMap(Unicode.Scalar.init) else { return text }
                output += scalar.value < 0x20 ? Array(unicodeEscape(scalar).utf8) : Array(String(scalar).utf8)
            default: output += [UInt8(ascii: "\\"), kind]
            }
        }
        return output
    }

    private static func unicodeEscape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
