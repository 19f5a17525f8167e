internal import LosslessJSON

/// The argument of `$mod`. Integers only; the remainder has the sign of the dividend.
struct Modulus: Sendable {
    let divisor: Int
    let remainder: Int

    /// - Throws: ``MatchError/divisionByZero``, where CouchDB's matcher crashes.
    func matches(_ value: JSONValue) throws(MatchError) -> Bool {
        guard value.isInteger else { return false }
        guard divisor != 0 else { throw .divisionByZero }
        guard let integer = value.integer else { return longRemainder(value) == remainder }
        return integer.remainderReportingOverflow(dividingBy: divisor).partialValue == remainder
    }

    /// The remainder of an integer beyond 64 bits, digit by digit.
    private func longRemainder(_ value: JSONValue) -> Int {
        let modulus = divisor.magnitude
        var rest: UInt = 0
        for digit in value.bytes where digit != UInt8(ascii: "-") {
            let product = rest.multipliedFullWidth(by: 10)
            let (low, carried) = product.low.addingReportingOverflow(UInt(digit - 0x30))
            rest = modulus.dividingFullWidth((product.high + (carried ? 1 : 0), low)).remainder
        }
        return value.bytes.first == UInt8(ascii: "-") ? -Int(rest) : Int(rest)
    }
}
