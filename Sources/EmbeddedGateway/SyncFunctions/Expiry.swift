internal import Encodings
internal import LosslessJSON

/// When a document expires, from `_exp` or the argument of `expiry`.
enum Expiry {
    /// - Parameters:
    ///   - value: A JSON number or string.
    ///   - now: Seconds since 1970.
    /// - Returns: Seconds since 1970. Nil if the value is not a time.
    static func time(_ value: [UInt8], now: Int) -> Int? {
        guard let value = try? JSONText(value).root else { return nil }
        if let text = value.string { return DocumentExpiry.time(ofText: text, now: now) }
        let number = Double(String(decoding: value.bytes, as: UTF8.self))
        return number.flatMap { DocumentExpiry.time(ofNumber: $0, now: now) }
    }
}
