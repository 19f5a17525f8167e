import Glibc

/// A moment as HTTP writes it, to the second.
///
/// - Note: Source: RFC 9110, section 5.6.7. Of its three forms the two obsolete ones are read too; the day of the week is
///   not looked at.
package struct HTTPDate: Hashable, Sendable {
    /// Since 1970-01-01 00:00:00 UTC, leap seconds left out.
    package let seconds: Int

    package init(seconds: Int) { self.seconds = seconds }

    package static var now: HTTPDate { HTTPDate(seconds: Glibc.time(nil)) }

    /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT` or `Sun Nov  6 08:49:37 1994`; nil for anything
    /// else, dates that there are not too.
    package init?(_ text: String) {
        let words = text.split { $0 == " " || $0 == "-" || $0 == "," }.map(String.init)
        let isAscTime = words.count == 5
        guard isAscTime || words.count == 6 && words[5] == "GMT" else { return nil }
        let (day, month, year, time) =
            isAscTime ? (words[2], words[1], words[4], words[3]) : (words[1], words[2], words[3], words[4])
        guard let day = Self.number(day, 1...31), let month = Self.months.firstIndex(of: month),
            let year = Self.year(year), day <= Self.days(in: month, of: year), let time = Self.time(time)
        else { return nil }
        let daysBefore = (0..<month).reduce(0) { $0 + Self.days(in: $1, of: year) }
        seconds = (Self.days(before: year) + daysBefore + day - 1) * 86_400 + time
    }

    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    private static func number(_ text: some StringProtocol, _ range: ClosedRange<Int>) -> Int? {
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let number = Int(text) else { return nil }
        return range.contains(number) ? number : nil
    }

    /// Two digits are of this century, up to 69, or the one before.
    private static func year(_ text: String) -> Int? {
        guard text.utf8.count != 2 else { return number(text, 0...99).map { $0 < 70 ? 2000 + $0 : 1900 + $0 } }
        return number(text, 1970...9999)
    }

    /// Seconds since midnight. A leap second counts as the one before it.
    private static func time(_ text: String) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 3, let hour = number(parts[0], 0...23), let minute = number(parts[1], 0...59),
            let second = number(parts[2], 0...60)
        else { return nil }
        return hour * 3600 + minute * 60 + min(second, 59)
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// - Parameter month: Counted from 0.
    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 1: isLeap(year) ? 29 : 28
        case 3, 5, 8, 10: 30
        default: 31
        }
    }

    /// Days from 1970 to the start of `year`.
    private static func days(before year: Int) -> Int {
        let last = year - 1
        return last * 365 + last / 4 - last / 100 + last / 400 - 719_162
    }
}

extension HTTPHeaders {
    /// How long the server asks to wait, an hour at most; nil if it does not.
    ///
    /// A date is compared with that of the answer itself, where it has one: the clocks of two machines need not agree.
    ///
    /// - Parameter now: The time here, for answers without a date.
    /// - Note: Source: RFC 9110, section 10.2.3.
    package func retryAfter(now: @autoclosure () -> HTTPDate = .now) -> Duration? {
        guard let text = self["Retry-After"] else { return nil }
        let wait: Int
        if let date = HTTPDate(text) {
            wait = date.seconds - (self["Date"].flatMap(HTTPDate.init) ?? now()).seconds
        } else if !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) {
            // Too many digits for a number are a long time too.
            wait = Int(text) ?? .max
        } else {
            return nil
        }
        return .seconds(min(max(0, wait), 3600))
    }
}
