/// A number of a count or a sum: exact, with 12 digits after the decimal point.
///
/// Doubles would drift: `0.1 + 0.2 - 0.3` must be 0 again after the documents are deleted.
package struct DecimalAmount: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of digits before the decimal point of one document's amount. A total has room for 10 billion
    /// such documents.
    package static let wholeDigits = 16
    /// The digits after the decimal point. Further digits are rounded, halves away from zero.
    package static let fractionDigits = 12
    /// The maximum number of digits of a total that fit into ``units``.
    private static let wholeDigitsOfTotal = 26
    /// An exponent outside this range makes any shorter number zero, or too large.
    private static let exponents = -(1 << 40)...(1 << 40)

    /// The number times 10 to the power of ``fractionDigits``.
    private let units: Int128

    package static let zero = DecimalAmount(units: 0)
    package static let one = DecimalAmount(units: scale)

    private static let scale: Int128 = 1_000_000_000_000

    private init(units: Int128) { self.units = units }

    /// Nil if the number has more than ``wholeDigits`` digits before the decimal point.
    ///
    /// - Parameter number: A number as in JSON.
    package init?(number: some Sequence<UInt8>) { self.init(number, wholeDigits: Self.wholeDigits) }

    /// A total in the format of ``description``. Nil for anything else.
    package init?(total: some StringProtocol) {
        guard total.utf8.contains(where: { (0x30...0x39).contains($0) }) else { return nil }
        self.init(total.utf8, wholeDigits: Self.wholeDigitsOfTotal)
    }

    private init?(_ number: some Sequence<UInt8>, wholeDigits: Int) {
        let text = Array(number)
        let parts = text.split(maxSplits: 1) { $0 == UInt8(ascii: "e") || $0 == UInt8(ascii: "E") }
        guard var mantissa = parts.first else { return nil }
        let isNegative = mantissa.first == UInt8(ascii: "-")
        if isNegative { mantissa = mantissa.dropFirst() }
        let point = mantissa.firstIndex(of: UInt8(ascii: "."))
        let fraction = point.map { mantissa.endIndex - $0 - 1 } ?? 0
        var digits = mantissa.filter { $0 != UInt8(ascii: ".") }.drop { $0 == UInt8(ascii: "0") }
        guard !digits.isEmpty else {
            self = .zero
            return
        }
        let exponent = parts.count > 1 ? Self.exponent(parts[1]) : 0
        let shift = exponent - fraction + Self.fractionDigits
        let kept = digits.count + shift
        guard kept <= wholeDigits + Self.fractionDigits else { return nil }
        guard kept >= 0 else {
            self = .zero
            return
        }
        let isRoundedUp = kept < digits.count && digits[digits.startIndex + kept] >= UInt8(ascii: "5")
        digits = digits.prefix(kept)
        var units = digits.reduce(Int128(0)) { $0 * 10 + Int128($1 - UInt8(ascii: "0")) }
        for _ in digits.count..<kept { units *= 10 }
        if isRoundedUp { units += 1 }
        self.init(units: isNegative ? -units : units)
    }

    private static func exponent(_ text: ArraySlice<UInt8>) -> Int {
        let isNegative = text.first == UInt8(ascii: "-")
        let value = Int(String(decoding: text, as: UTF8.self)) ?? (isNegative ? .min : .max)
        return min(max(value, exponents.lowerBound), exponents.upperBound)
    }

    package static func + (left: DecimalAmount, right: DecimalAmount) -> DecimalAmount {
        DecimalAmount(units: left.units &+ right.units)
    }

    package static func - (left: DecimalAmount, right: DecimalAmount) -> DecimalAmount {
        DecimalAmount(units: left.units &- right.units)
    }

    /// The number as in JSON, without an exponent and without superfluous zeros: `3`, `-0.25`.
    package var description: String {
        let (whole, fraction) = units.magnitude.quotientAndRemainder(dividingBy: Self.scale.magnitude)
        let sign = units < 0 ? "-" : ""
        guard fraction != 0 else { return "\(sign)\(whole)" }
        let digits = String(fraction)
        var text = String(repeating: "0", count: Self.fractionDigits - digits.count) + digits
        while text.hasSuffix("0") { text.removeLast() }
        return "\(sign)\(whole).\(text)"
    }
}
