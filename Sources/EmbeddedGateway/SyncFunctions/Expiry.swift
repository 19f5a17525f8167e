internal import Encodings
internal import LosslessJSON

/// When a document expires, as `_exp` and the argument of `expiry` say it.
enum Expiry {
    /// Up to 30 days, a number counts from now.
    private static let relativeLimit = 30 * 24 * 60 * 60

    /// - Parameters:
    ///   - value: A JSON number or string.
    ///   - now: Seconds since 1970.
    /// - Returns: Seconds since 1970; nil if it says nothing.
    /// - Note: Source: recorded, Sync Gateway 4.1.1: seconds from now, seconds since 1970, digits or a date.
    static func time(_ value: [UInt8], now: Int) -> Int? {
        guard let value = try? JSONText(value).root else { return nil }
        if let text = value.string {
            return Int(text).map { time($0, now: now) } ?? UTCDate(rfc3339: text)?.secondsRoundedUp
        }
        guard let number = Double(String(decoding: value.bytes, as: UTF8.self)), number.magnitude < 1e15 else {
            return nil
        }
        return time(Int(number), now: now)
    }

    private static func time(_ number: Int, now: Int) -> Int? {
        guard number > 0, number <= Int(UInt32.max) else { return nil }
        return number <= relativeLimit ? now + number : number
    }
}
