/// A number as its text says, compared as CouchDB compares: integers exactly, whatever their length; everything with a
/// fraction or an exponent as a double.
///
/// - Note: Source: CouchDB 3.5 decodes integers into Erlang integers and the rest into floats; Erlang compares an
///   integer with a float exactly once the float is beyond 2^53, where every float is a whole number.
struct JSONNumber {
    private enum Form {
        case integer(isNegative: Bool, digits: ArraySlice<UInt8>)
        case float(Double)
    }

    private let form: Form
    private let text: ArraySlice<UInt8>

    /// - Precondition: `value` is a number.
    init(_ value: JSONValue) {
        text = value.bytes
        guard value.node.traits.contains(.integer) else {
            form = .float(Self.double(text))
            return
        }
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        form = .integer(isNegative: isNegative && digits.first != UInt8(ascii: "0"), digits: digits)
    }

    func compare(_ other: JSONNumber) -> JSONOrdering {
        switch (form, other.form) {
        case (.integer(let isNegative, let digits), .integer(let otherIsNegative, let otherDigits)):
            if isNegative != otherIsNegative { return isNegative ? .less : .greater }
            let order = Self.compareDigits(digits, otherDigits)
            return isNegative ? order.reversed : order
        case (.float(let value), .float(let other)): return JSONOrdering(value, other)
        case (.integer, .float(let float)): return compareInteger(with: float)
        case (.float(let float), .integer): return other.compareInteger(with: float).reversed
        }
    }

    private func compareInteger(with float: Double) -> JSONOrdering {
        guard case .integer(let isNegative, let digits) = form, digits.count > 15, float.isFinite,
            float.magnitude >= 0x1p53
        else { return JSONOrdering(Self.double(text), float) }
        if isNegative != (float < 0) { return isNegative ? .less : .greater }
        let order = Self.compareDigits(digits, Self.wholeDigits(of: float.magnitude)[...])
        return isNegative ? order.reversed : order
    }

    private static func compareDigits(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> JSONOrdering {
        if left.count != right.count { return left.count < right.count ? .less : .greater }
        for (left, right) in zip(left, right) where left != right { return left < right ? .less : .greater }
        return .equal
    }

    /// Infinite where the text is beyond the range of a double.
    private static func double(_ text: ArraySlice<UInt8>) -> Double {
        Double(String(decoding: text, as: UTF8.self)) ?? .nan
    }

    /// All decimal digits of a whole float: its significand, doubled `exponent` times.
    private static func wholeDigits(of float: Double) -> [UInt8] {
        var reversedDigits = String(UInt64(float.significand * 0x1p52)).utf8.reversed().map { $0 - 0x30 }
        for _ in 0..<Int(float.exponent) - 52 {
            var carry: UInt8 = 0
            for index in reversedDigits.indices {
                let doubled = reversedDigits[index] * 2 + carry
                reversedDigits[index] = doubled % 10
                carry = doubled / 10
            }
            if carry > 0 { reversedDigits.append(carry) }
        }
        return reversedDigits.reversed().map { $0 + 0x30 }
    }
}
