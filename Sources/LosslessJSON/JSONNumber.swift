/// A number, compared as CouchDB compares: integers exactly, at any length; numbers with a fraction or an exponent as
/// doubles.
///
/// - Note: Source: CouchDB 3.5 decodes integers into Erlang integers and all other numbers into floats. Erlang compares
///   an integer with a float exactly if the float is at least 2^53. From there on every float is a whole number.
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

    /// A number too large for a double is an infinity beyond every integer. Otherwise there would be no total order.
    private func compareInteger(with float: Double) -> JSONOrdering {
        guard case .integer(let isNegative, let digits) = form, float.isFinite else {
            return float < 0 ? .greater : .less
        }
        // Rounding preserves the order; only a tie can hide a difference.
        let rounded = JSONOrdering(Self.double(text), float)
        guard rounded == .equal, float.magnitude >= 0x1p53 else { return rounded }
        let order = Self.compareDigits(digits, Self.wholeDigits(of: float.magnitude)[...])
        return isNegative ? order.reversed : order
    }

    private static func compareDigits(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> JSONOrdering {
        if left.count != right.count { return left.count < right.count ? .less : .greater }
        for (left, right) in zip(left, right) where left != right { return left < right ? .less : .greater }
        return .equal
    }

    /// Infinite if the number exceeds the range of a double.
    private static func double(_ text: ArraySlice<UInt8>) -> Double {
        Double(String(decoding: text, as: UTF8.self)) ?? .nan
    }

    /// All decimal digits of a whole float of at least 2^53: its significand, shifted left by up to 32 bits per step.
    private static func wholeDigits(of float: Double) -> [UInt8] {
        let base: UInt64 = 1_000_000_000
        var limbs: [UInt64] = []
        var carry = UInt64(float.significand * 0x1p52)
        var shift = Int(float.exponent) - 52
        while carry > 0 || shift > 0 {
            if carry > 0 {
                limbs.append(carry % base)
                carry /= base
                continue
            }
            let step = min(shift, 32)
            shift -= step
            for index in limbs.indices {
                let shifted = limbs[index] << UInt64(step) + carry
                limbs[index] = shifted % base
                carry = shifted / base
            }
        }
        return limbs.reversed().enumerated().flatMap { position, limb in
            let digits = Array(String(limb).utf8)
            return position == 0 ? digits : Array(repeating: 0x30, count: 9 - digits.count) + digits
        }
    }
}
