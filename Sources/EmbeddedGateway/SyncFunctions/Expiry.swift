internal import Encodings
internal import LosslessJSON

/// When a document expires, from `_exp` or the argument of `expiry`, in seconds as in `DocumentExpiry`.
enum Expiry {
    /// - Parameter value: `_exp`.
    /// - Returns: Nil for null.
    /// - Throws: ``RequestError`` 400.
    /// - Note: Source: tried on Sync Gateway 4.1.1, with its reasons.
    static func seconds(ofMember value: JSONValue) throws(RequestError) -> Int? {
        do throws(DocumentExpiry.Refusal) {
            if let text = value.string { return try DocumentExpiry.seconds(ofText: text) }
            switch value.kind {
            case .null: return nil
            case .number: return try DocumentExpiry.seconds(ofNumber: integer(value))
            default: throw DocumentExpiry.Refusal(reason: "Unrecognized expiry format")
            }
        } catch {
            throw RequestError(400, "Invalid expiry: \(error.reason)")
        }
    }

    /// Only digits are an integer, neither `1.0` nor `1e3`.
    private static func integer(_ value: JSONValue) throws(DocumentExpiry.Refusal) -> Int {
        let text = String(decoding: value.bytes, as: UTF8.self)
        if let integer = Int(text) { return integer }
        let isInteger = text.utf8.allSatisfy { 0x30...0x39 ~= $0 || $0 == UInt8(ascii: "-") }
        throw DocumentExpiry.Refusal(
            reason: "strconv.ParseInt: parsing \"\(text)\": \(isInteger ? "value out of range" : "invalid syntax")")
    }

    /// - Parameter argument: A JSON number, of which the fraction does not count, or a string.
    /// - Returns: Nil if it is not a time: the call is then ignored.
    static func seconds(ofArgument argument: [UInt8]) -> Int? {
        guard let value = try? JSONText(argument).root else { return nil }
        if let text = value.string { return try? DocumentExpiry.seconds(ofText: text) }
        guard let number = Double(String(decoding: value.bytes, as: UTF8.self)), number.magnitude < 1e15 else {
            return nil
        }
        return try? DocumentExpiry.seconds(ofNumber: Int(number))
    }
}
