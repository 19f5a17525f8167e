/// A point in time in the format of JSON documents: `YYYY-MM-DDTHH:MM:SS.mmmZ`.
package struct UTCDate: Sendable {
    private static let secondsOfDay = 86_400
    /// 100,000,000 days before and after the epoch, the range of ECMAScript (ECMA-262, section 21.4.1.1).
    private static let range = -8_640_000_000_000_000...8_640_000_000_000_000

    /// Since 1970-01-01 00:00:00 UTC, without leap seconds.
    package let seconds: Int
    /// The digits after the decimal point, at least three.
    private let fraction: String

    /// ``seconds`` and their fraction, as exactly as a double holds it.
    package var secondsWithFraction: Double { Double(seconds) + (Double("0.\(fraction)") ?? 0) }

    /// ``seconds``, or one more if there is a fraction: the first whole second that is not before this time.
    package var secondsRoundedUp: Int { fraction.allSatisfy { $0 == "0" } ? seconds : seconds + 1 }

    /// - Parameter milliseconds: Since 1970. The result is nil beyond 100,000,000 days.
    package init?(milliseconds: Int) {
        guard Self.range.contains(milliseconds) else { return nil }
        seconds = milliseconds.flooredQuotient(1000)
        fraction = (milliseconds - seconds * 1000).padded(to: 3)
    }

    init(seconds: Int) {
        self.seconds = seconds
        fraction = "000"
    }

    /// - Parameter characters: A date and a time with its zone, as `2026-11-20T10:00:00.5+01:00`. Seconds, their
    ///   fraction and the colon of the zone may be missing. Years outside 0 to 9999 have a sign and six digits.
    /// - Note: Source: ECMA-262, section 21.4.1.32.
    package init?(ecmaScript characters: [UInt8]) {
        var text = DateText(characters)
        guard let day = text.day(text.year()), text.take("T"), let minutes = text.hoursAndMinutes() else { return nil }
        var second = 0
        var digits = ""
        if text.take(":") {
            guard let number = text.number(0...59), let fraction = text.fraction() else { return nil }
            (second, digits) = (number, fraction)
        }
        guard let zone = text.take("Z") ? 0 : text.offset(colon: .optional), text.isAtEnd else { return nil }
        self.init(day, minutes: minutes - zone, second, digits)
    }

    /// - Parameter text: `2026-11-20T10:00:00Z`, with any offset (`+01:00`) and any fraction of a second; or
    ///   `2026-11-20`, which is midnight UTC.
    /// - Note: Source: RFC 3339, section 5.6, without leap seconds.
    package init?(rfc3339 text: String) {
        var text = DateText(Array(text.utf8))
        guard let day = text.day(text.number(width: 4)) else { return nil }
        if text.isAtEnd {
            self.init(day, minutes: 0, 0, "")
            return
        }
        guard text.take("T") || text.take("t") || text.take(" "), let minutes = text.hoursAndMinutes(),
            text.take(":"), let second = text.number(0...59), let digits = text.fraction(),
            let zone = text.take("Z") || text.take("z") ? 0 : text.offset(colon: .required), text.isAtEnd
        else { return nil }
        self.init(day, minutes: minutes - zone, second, digits)
    }

    /// - Parameter digits: The fraction of the second.
    private init(_ day: CalendarDay, minutes: Int, _ second: Int, _ digits: String) {
        seconds = day.daysSince1970 * Self.secondsOfDay + minutes * 60 + second
        fraction = digits + String(repeating: "0", count: max(3 - digits.utf8.count, 0))
    }

    /// With the fraction of the second: `2026-11-20T10:00:00.500Z`.
    package var text: String { "\(wholeSeconds).\(fraction)Z" }

    /// Without it: `2026-11-20T10:00:00`.
    var wholeSeconds: String {
        let days = seconds.flooredQuotient(Self.secondsOfDay)
        let second = seconds - days * Self.secondsOfDay
        let time = [second / 3600, second / 60 % 60, second % 60].map { $0.padded(to: 2) }.joined(separator: ":")
        return "\(CalendarDay(daysSince1970: days).text)T\(time)"
    }
}
