/// `_exp`: the time when Sync Gateway removes a document.
///
/// - Note: Source: recorded, Sync Gateway 4.1.1.
package enum DocumentExpiry {
    /// The name of the member.
    package static let member = "_exp"
    /// Up to 30 days, a number of seconds counts from the time of the write; above, from 1970.
    package static let longestRelative = 30 * 86_400
    /// The last time that the server can store, in seconds since 1970: 2106-02-07.
    package static let last = Int(UInt32.max)

    /// The expiry of a document in seconds since 1970; nil if the text is not a time.
    ///
    /// - Parameters:
    ///   - text: A date, or the digits of a number.
    ///   - now: Seconds since 1970.
    package static func time(ofText text: String, now: Int) -> Int? {
        if let number = Int(text) { return time(ofNumber: number, now: now) }
        return UTCDate(rfc3339: text)?.secondsRoundedUp
    }

    /// The same for a number.
    package static func time(ofNumber number: Double, now: Int) -> Int? {
        number.magnitude < 1e15 ? time(ofNumber: Int(number), now: now) : nil
    }

    private static func time(ofNumber number: Int, now: Int) -> Int? {
        guard number > 0, number <= last else { return nil }
        return number <= longestRelative ? now + number : number
    }
}
