/// How an ``ISODate`` is written, so that a moved date has the form of its text.
struct ISODateForm {
    enum Day {
        /// `2026-11-20`.
        case calendar
        /// `2026-324`.
        case ordinal
        /// `2026-W47-5`.
        case week
    }

    /// The smallest unit of a time. The raw value is its length in seconds.
    enum Unit: Int {
        case hour = 3600
        case minute = 60
        case second = 1
    }

    enum Offset {
        /// `+01`.
        case hours
        /// `+0100`.
        case basic
        /// `+01:00`.
        case extended
    }

    var day = Day.calendar
    /// Whether the day has hyphens.
    var isDayExtended = true
    /// Between day and time.
    var separator: Unicode.Scalar = "T"
    var unit = Unit.second
    /// Whether the time has colons.
    var isTimeExtended = true
    /// Before the fraction of the smallest unit.
    var decimalSign: Unicode.Scalar = "."
    /// `Z` or `z`.
    var utc: Unicode.Scalar = "Z"
    var offset = Offset.extended

    func text(of date: CalendarDay) -> String {
        let sign = isDayExtended ? "-" : ""
        switch day {
        case .calendar:
            return "\(date.yearText)\(sign)\(date.month.padded(to: 2))\(sign)\(date.day.padded(to: 2))"
        case .ordinal:
            let start = CalendarDay(year: date.year, month: 1, day: 1)?.daysSince1970 ?? date.daysSince1970
            return "\(date.yearText)\(sign)\((date.daysSince1970 - start + 1).padded(to: 3))"
        case .week:
            let days = date.daysSince1970
            // 1 January 1970 was a Thursday. A week belongs to the year of its Thursday.
            let weekday = days + 3 - (days + 3).flooredQuotient(7) * 7
            let thursday = CalendarDay(daysSince1970: days - weekday + 3)
            let start = CalendarDay(year: thursday.year, month: 1, day: 1)?.daysSince1970 ?? days
            let week = (thursday.daysSince1970 - start) / 7 + 1
            return "\(thursday.yearText)\(sign)W\(week.padded(to: 2))\(sign)\(weekday + 1)"
        }
    }

    /// - Parameters:
    ///   - second: The second of the day.
    ///   - fraction: The digits after the decimal sign.
    func time(_ second: Int, _ fraction: String) -> String {
        let numbers = [second / 3600, second / 60 % 60, second % 60].map { $0.padded(to: 2) }
        let count = unit == .hour ? 1 : unit == .minute ? 2 : 3
        return numbers.prefix(count).joined(separator: isTimeExtended ? ":" : "")
            + (fraction.isEmpty ? "" : "\(decimalSign)\(fraction)")
    }

    /// - Parameter minutes: East of UTC.
    func text(ofOffset minutes: Int) -> String {
        let size = Int(minutes.magnitude)
        let hours = (minutes < 0 ? "-" : "+") + (size / 60).padded(to: 2)
        return switch offset {
        case .hours: hours
        case .basic: hours + (size % 60).padded(to: 2)
        case .extended: hours + ":" + (size % 60).padded(to: 2)
        }
    }
}
