internal import Glibc

/// A point in time in the format of HTTP headers, with a resolution of one second.
///
/// - Note: Source: RFC 9110, section 5.6.7. The two obsolete forms are read too. The day of the week is not checked.
package struct HTTPDate: Hashable, Sendable {
    /// Since 1970-01-01 00:00:00 UTC, without leap seconds.
    package let seconds: Int

    /// - Parameter seconds: Since 1970-01-01 00:00:00 UTC.
    package init(seconds: Int) { self.seconds = seconds }

    /// The current time, rounded down to whole seconds.
    package static var now: HTTPDate { HTTPDate(seconds: Timestamp.secondsNow) }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`. Nil for
    /// anything else, and for dates that do not exist.
    package init?(_ text: String) {
        let words = text.split { $0 == " " || $0 == "-" || $0 == "," }.map(String.init)
        let isAscTime = words.count == 5
        guard isAscTime || words.count == 6 && words[5] == "GMT" else { return nil }
        let (day, month, year, time) =
            isAscTime ? (words[2], words[1], words[4], words[3]) : (words[1], words[2], words[3], words[4])
        guard let number = Self.number(day, 1...31), let month = Self.months.firstIndex(of: month),
            let year = Self.year(year), let day = CalendarDay(year: year, month: month + 1, day: number),
            let time = Self.time(time)
        else { return nil }
        seconds = day.daysSince1970 * 86_400 + time
    }

    /// In the current form: `Sun, 06 Nov 1994 08:49:37 GMT`.
    package var text: String {
        let days = seconds.flooredQuotient(86_400)
        let day = CalendarDay(daysSince1970: days)
        // 1970-01-01 was a Thursday.
        let weekday = Self.weekdays[days + 4 - (days + 4).flooredQuotient(7) * 7]
        let second = seconds - days * 86_400
        let time = [second / 3600, second / 60 % 60, second % 60].map { $0.padded(to: 2) }.joined(separator: ":")
        return
            "\(weekday), \(day.day.padded(to: 2)) \(Self.months[day.month - 1]) \(day.year.padded(to: 4)) \(time) GMT"
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    private static let weekdays = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]

    private static func number(_ text: some StringProtocol, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else { return nil }
        return range.contains(number) ? number : nil
    }

    /// Two digits below 70 mean 20xx, others 19xx.
    private static func year(_ text: String) -> Int? {
        guard text.utf8.count != 2 else { return number(text, 0...99).map { $0 < 70 ? 2000 + $0 : 1900 + $0 } }
        return number(text, 1970...9999)
    }

    /// Seconds since midnight. A leap second counts as the second before it.
    private static func time(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = number(parts[0], 0...23), let minute = number(parts[1], 0...59),
            let second = number(parts[2], 0...60)
        else { return nil }
        return hour * 3600 + minute * 60 + min(second, 59)
    }
}
