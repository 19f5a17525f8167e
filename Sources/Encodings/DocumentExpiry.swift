/// `_exp`: the time when Sync Gateway removes a document.
///
/// - Note: Source: recorded and tried, Sync Gateway 4.1.1: its `base.ReflectExpiry`.
package enum DocumentExpiry {
    /// Why Sync Gateway refuses a value, in its words.
    package struct Refusal: Error {
        package let reason: String

        package init(reason: String) { self.reason = reason }
    }

    /// The name of the member.
    package static let member = "_exp"
    /// Up to 30 days, a number of seconds counts from the time of the write; above, from 1970.
    package static let maxRelativeSeconds = 30 * 86_400
    /// The last time that the server can store, in seconds since 1970: 2106-02-07.
    package static let last = Int(UInt32.max)

    /// The number of seconds that a text stands for. 0: the document never expires.
    ///
    /// - Parameter text: A date and a time with its zone, or the digits of a number up to 2,147,483,647.
    package static func seconds(ofText text: String) throws(Refusal) -> Int {
        if let number = Int32(text) { return try seconds(ofNumber: Int(number)) }
        let time: GoTime
        do throws(GoTime.Failure) { time = try GoTime(text) } catch {
            throw Refusal(
                reason: "Unable to parse expiry \(text) as either numeric or date expiry: \(error.message)")
        }
        return try seconds(ofNumber: time.seconds)
    }

    /// The same for a number.
    package static func seconds(ofNumber number: Int) throws(Refusal) -> Int {
        guard 0...last ~= number else {
            throw Refusal(reason: "Expiry value is not within valid range: \(number)")
        }
        return number
    }

    /// The expiry of a document in seconds since 1970. Nil if it never expires.
    ///
    /// - Parameters:
    ///   - seconds: A valid value of the member.
    ///   - now: Seconds since 1970.
    package static func time(ofSeconds seconds: Int, now: Int) -> Int? {
        guard seconds > 0 else { return nil }
        return seconds <= maxRelativeSeconds ? now + seconds : seconds
    }

    /// The same for a text. Nil if it is not a time, too.
    package static func time(ofText text: String, now: Int) -> Int? {
        (try? seconds(ofText: text)).flatMap { time(ofSeconds: $0, now: now) }
    }

    /// The same for a number.
    package static func time(ofNumber number: Double, now: Int) -> Int? {
        guard number.magnitude < 1e15 else { return nil }
        return (try? seconds(ofNumber: Int(number))).flatMap { time(ofSeconds: $0, now: now) }
    }
}
