/// The meaning of a plain scalar in YAML 1.2: `on`, `yes`, `12:30` and dates are strings.
///
/// - Note: Source: YAML 1.2.2, section 10.3.2 (core schema).
enum YAMLCoreSchema {
    enum ValueError: Error, Equatable {
        /// `.inf` or `.nan`.
        case notJSON
        /// A hexadecimal or octal number beyond 64 bits.
        case tooLarge
    }

    static func resolve(_ text: String) throws(ValueError) -> SourceNode.Content {
        switch text {
        case "", "~", "null", "Null", "NULL": return .null
        case "true", "True", "TRUE": return .bool(true)
        case "false", "False", "FALSE": return .bool(false)
        default: break
        }
        return try number(text).map { .number($0) } ?? .string(text)
    }

    /// The number as JSON, with its digits. Nil if `text` is not a number.
    static func number(_ text: String) throws(ValueError) -> String? {
        let bytes = Array(text.utf8)
        if text.hasPrefix("0o") || text.hasPrefix("0x") { return try radixNumber(bytes) }
        let isNegative = bytes.first == UInt8(ascii: "-")
        let unsigned = isNegative || bytes.first == UInt8(ascii: "+") ? bytes.dropFirst() : bytes[...]
        let isSigned = unsigned.count < bytes.count
        switch (String(decoding: unsigned, as: UTF8.self), isSigned) {
        case (".inf", _), (".Inf", _), (".INF", _), (".nan", false), (".NaN", false), (".NAN", false): throw .notJSON
        default: break
        }
        guard let decimal = decimalNumber(unsigned) else { return nil }
        return (isNegative ? "-" : "") + decimal
    }

    /// `[0-9]+(\.[0-9]*)?` or `\.[0-9]+`, optionally with an exponent.
    private static func decimalNumber(_ bytes: ArraySlice<UInt8>) -> String? {
        var rest = bytes
        let whole = takeDigits(&rest)
        var fraction: ArraySlice<UInt8>?
        if rest.first == UInt8(ascii: ".") {
            rest.removeFirst()
            fraction = takeDigits(&rest)
        }
        guard !whole.isEmpty || fraction?.isEmpty == false else { return nil }
        var exponent: ArraySlice<UInt8> = []
        if let byte = rest.first, byte | 0x20 == UInt8(ascii: "e") {
            exponent = rest
            rest.removeFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest.removeFirst() }
            guard !takeDigits(&rest).isEmpty else { return nil }
        }
        guard rest.isEmpty else { return nil }
        let significant = whole.drop { $0 == UInt8(ascii: "0") }
        var result = significant.isEmpty ? "0" : String(decoding: significant, as: UTF8.self)
        if let fraction { result += "." + (fraction.isEmpty ? "0" : String(decoding: fraction, as: UTF8.self)) }
        return result + String(decoding: exponent, as: UTF8.self)
    }

    private static func takeDigits(_ bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = bytes.prefix { (0x30...0x39).contains($0) }
        bytes = bytes[digits.endIndex...]
        return digits
    }

    /// Octal (`0o`) and hexadecimal (`0x`) numbers, which JSON lacks, in decimal.
    private static func radixNumber(_ bytes: [UInt8]) throws(ValueError) -> String? {
        let isOctal = bytes[1] == UInt8(ascii: "o")
        let digits = String(decoding: bytes.dropFirst(2), as: UTF8.self)
        let isNumber =
            !digits.isEmpty
            && digits.utf8.allSatisfy { byte in
                isOctal
                    ? (0x30...0x37).contains(byte)
                    : (0x30...0x39).contains(byte) || (0x61...0x66).contains(byte | 0x20)
            }
        guard isNumber else { return nil }
        guard let value = UInt64(digits, radix: isOctal ? 8 : 16) else { throw .tooLarge }
        return String(value)
    }
}
