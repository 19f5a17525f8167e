/// The text of a JSON number, compared with the double that jq computes with.
struct NumberText {
    /// The nearest double. Infinite if the number is out of range.
    let double: Double
    private let text: ArraySlice<UInt8>

    init(_ text: ArraySlice<UInt8>) {
        self.text = text
        double = Double(String(decoding: text, as: UTF8.self)) ?? .nan
    }

    /// Whether the text surely has an exact double: at most 15 digits and no exponent.
    static func isSurelyExact(_ text: ArraySlice<UInt8>) -> Bool {
        text.count <= 15 && !text.contains { $0 | 0x20 == UInt8(ascii: "e") }
    }

    /// Whether the double's shortest decimal text has the same value: true for `1.10`, false for
    /// `0.1000000000000000001`.
    var isExactAsDouble: Bool {
        guard double.isFinite else { return false }
        return Decimal(text) == Decimal(Array("\(double)".utf8)[...])
    }

    /// The text of a number for jq, which has no infinity.
    static func text(of double: Double) -> [UInt8] {
        if double.isInfinite { return Array((double < 0 ? "-1e999" : "1e999").utf8) }
        return Array("\(double)".utf8)
    }

    /// A normalised value: digits without zeros at either end, times a power of ten.
    private struct Decimal: Equatable {
        var isNegative: Bool
        var digits: [UInt8] = []
        var exponent = 0

        init(_ text: ArraySlice<UInt8>) {
            isNegative = text.first == UInt8(ascii: "-")
            let mantissa = (isNegative ? text.dropFirst() : text).prefix { $0 | 0x20 != UInt8(ascii: "e") }
            var isFraction = false
            for byte in mantissa {
                if byte == UInt8(ascii: ".") {
                    isFraction = true
                } else {
                    if !digits.isEmpty || byte != UInt8(ascii: "0") { digits.append(byte) }
                    if isFraction { exponent -= 1 }
                }
            }
            exponent += Self.exponent(text[mantissa.endIndex...].dropFirst())
            while digits.last == UInt8(ascii: "0") {
                digits.removeLast()
                exponent += 1
            }
            if digits.isEmpty { (isNegative, exponent) = (false, 0) }
        }

        /// Limited to 2^56, so that adding the length of a text can't overflow.
        private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
            let value = text.reduce(0) { value, byte in
                byte &- 0x30 < 10 ? min(value * 10 + Int(byte - 0x30), 1 << 56) : value
            }
            return text.first == UInt8(ascii: "-") ? -value : value
        }
    }
}
