/// A day of the proleptic Gregorian calendar.
///
/// - Note: Source: Howard Hinnant's `chrono` algorithms. Their years begin in March, so that the leap day is the last.
package struct CalendarDay {
    package let year: Int
    /// 1 to 12.
    package let month: Int
    /// 1 to 31.
    package let day: Int

    /// Nil if the month has no such day.
    package init?(year: Int, month: Int, day: Int) {
        guard (1...12).contains(month), (1...Self.length(ofMonth: month, year)).contains(day) else { return nil }
        (self.year, self.month, self.day) = (year, month, day)
    }

    package init(daysSince1970 days: Int) {
        let era = (days + 719_468).flooredQuotient(146_097)
        let dayOfEra = days + 719_468 - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        month = shifted < 10 ? shifted + 3 : shifted - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        day = dayOfYear - (153 * shifted + 2) / 5 + 1
    }

    package var daysSince1970: Int {
        let year = month <= 2 ? year - 1 : year
        let era = year.flooredQuotient(400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    /// `2026-11-20`; years outside 0 to 9999 have a sign and six digits.
    var text: String { "\(yearText)-\(month.padded(to: 2))-\(day.padded(to: 2))" }

    var yearText: String {
        (0...9999).contains(year)
            ? year.padded(to: 4) : (year < 0 ? "-" : "+") + Int(year.magnitude).padded(to: 6)
    }

    /// The number of days of a month, 28 to 31.
    ///
    /// - Parameter month: 1 to 12.
    package static func length(ofMonth month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension Int {
    /// The quotient, rounded towards negative infinity.
    package func flooredQuotient(_ divisor: Int) -> Int { self / divisor - (self % divisor < 0 ? 1 : 0) }

    /// In decimal, padded with zeros to `width` digits. Not for negative numbers.
    func padded(to width: Int) -> String {
        let digits = String(self)
        return String(repeating: "0", count: Swift.max(width - digits.utf8.count, 0)) + digits
    }
}
