/// A date, or a date and a time with its zone, in any form of ISO 8601 that specifies one moment.
///
/// Keeps the text's local time, zone and digits, so that a date can be moved and written in the same form.
///
/// - Note: Source: ISO 8601-1:2019, sections 5.2 to 5.4: calendar, ordinal and week dates, extended and basic.
package struct ISODate: Sendable {
    private static let secondsOfDay = 86_400

    private enum Zone: Equatable {
        /// The text is a date only: midnight UTC.
        case none
        case utc
        /// In minutes east of UTC.
        case offset(Int)
    }

    private var day: CalendarDay
    private var secondOfDay = 0
    /// The digits after the decimal point.
    private var fraction = ""
    private var zone = Zone.none

    /// - Parameter text: For example `2026-11-20T10:00:00.5+01:00`, `20261120T1000Z`, `2026-W47-5` or `2026-11-20`.
    ///   Seconds, minutes and the colon of the zone may be missing. A `t` or a space may separate date and time.
    /// - Throws: Why the text does not specify a moment.
    package init(_ text: String) throws(ISODateError) {
        var text = DateText(Array(text.utf8))
        day = try Self.day(&text)
        guard !text.isAtEnd else { return }
        guard text.take("T") || text.take("t") || text.take(" ") else { throw .malformed }
        try readTime(&text)
        guard !text.isAtEnd else { throw .noZone }
        zone = try Self.zone(&text)
        guard text.isAtEnd else { throw .malformed }
    }

    private static func day(_ text: inout DateText) throws(ISODateError) -> CalendarDay {
        guard let year = text.year() else { throw .malformed }
        let isExtended = text.take("-")
        if text.take("W") {
            guard let week = text.number(1...53), !isExtended || text.take("-"),
                let weekday = text.number(width: 1), (1...7).contains(weekday)
            else { throw .malformed }
            return try Self.day(year: year, week: week, weekday)
        }
        if text.digitCount == 3 {
            guard let ordinal = text.number(width: 3), let first = CalendarDay(year: year, month: 1, day: 1) else {
                throw .malformed
            }
            let day = CalendarDay(daysSince1970: first.daysSince1970 + ordinal - 1)
            guard ordinal > 0, day.year == year else { throw .noSuchDay }
            return day
        }
        guard let month = text.number(width: 2), !isExtended || text.take("-"), let number = text.number(width: 2)
        else {
            throw .malformed
        }
        guard let day = CalendarDay(year: year, month: month, day: number) else { throw .noSuchDay }
        return day
    }

    /// The first week of a year is the one with 4 January; weeks begin on Monday.
    private static func day(year: Int, week: Int, _ weekday: Int) throws(ISODateError) -> CalendarDay {
        func monday(_ year: Int) -> Int? {
            guard let fourth = CalendarDay(year: year, month: 1, day: 4)?.daysSince1970 else { return nil }
            // 1 January 1970 was a Thursday.
            return fourth - (fourth + 3 - (fourth + 3).flooredQuotient(7) * 7)
        }
        guard let start = monday(year), let next = monday(year + 1), start + (week - 1) * 7 < next else {
            throw .noSuchDay
        }
        return CalendarDay(daysSince1970: start + (week - 1) * 7 + weekday - 1)
    }

    private mutating func readTime(_ text: inout DateText) throws(ISODateError) {
        guard let hour = text.number(0...24) else { throw .malformed }
        let isExtended = text.take(":")
        var (minute, second) = (0, 0)
        if isExtended || text.digitCount >= 2 {
            guard let number = text.number(0...59) else { throw .malformed }
            minute = number
            if isExtended ? text.take(":") : text.digitCount >= 2 {
                guard let number = text.number(0...59), let digits = text.fraction(allowsComma: true) else {
                    throw .malformed
                }
                (second, fraction) = (number, digits)
            }
        }
        secondOfDay = hour * 3600 + minute * 60 + second
        guard hour == 24 else { return }
        // The end of a day is the start of the next.
        guard secondOfDay == Self.secondsOfDay, fraction.allSatisfy({ $0 == "0" }) else { throw .malformed }
        secondOfDay = 0
        day = CalendarDay(daysSince1970: day.daysSince1970 + 1)
    }

    private static func zone(_ text: inout DateText) throws(ISODateError) -> Zone {
        if text.take("Z") || text.take("z") { return .utc }
        let isEast = text.take("+")
        guard isEast || text.take("-"), let hours = text.number(0...23) else { throw .malformed }
        var minutes = 0
        if text.take(":") || !text.isAtEnd {
            guard let number = text.number(0...59) else { throw .malformed }
            minutes = number
        }
        return .offset((isEast ? 1 : -1) * (hours * 60 + minutes))
    }

    /// - Parameter seconds: Since 1970, in UTC; within 100,000,000 days.
    private init(seconds: Int) {
        day = CalendarDay(daysSince1970: seconds.flooredQuotient(Self.secondsOfDay))
        secondOfDay = seconds - day.daysSince1970 * Self.secondsOfDay
        zone = .utc
    }
}

extension ISODate {
    /// Whole seconds since 1970-01-01 00:00:00 UTC, rounded down.
    package var seconds: Int {
        let local = day.daysSince1970 * Self.secondsOfDay + secondOfDay
        if case .offset(let minutes) = zone { return local - minutes * 60 }
        return local
    }

    /// ``seconds`` and their fraction, as exactly as a double holds it.
    package var secondsWithFraction: Double {
        fraction.isEmpty ? Double(seconds) : Double(seconds) + (Double("0.\(fraction)") ?? 0)
    }

    /// ``seconds``, or one more if there is a fraction.
    package var secondsRoundedUp: Int { fraction.allSatisfy { $0 == "0" } ? seconds : seconds + 1 }

    /// In the form of the text that was read: a date, or a date and a time with the same zone and digits.
    package var text: String {
        guard zone != .none else { return day.text }
        let time = [secondOfDay / 3600, secondOfDay / 60 % 60, secondOfDay % 60].map { $0.padded(to: 2) }
        let start = "\(day.text)T\(time.joined(separator: ":"))" + (fraction.isEmpty ? "" : ".\(fraction)")
        guard case .offset(let minutes) = zone else { return start + "Z" }
        let size = Int(minutes.magnitude)
        return start + (minutes < 0 ? "-" : "+") + (size / 60).padded(to: 2) + ":" + (size % 60).padded(to: 2)
    }

    /// The same time of day after this number of days, or before if negative. Nil beyond 100,000,000 days.
    package func adding(days: Int) -> ISODate? {
        guard (-200_000_000...200_000_000).contains(days) else { return nil }
        var result = self
        result.day = CalendarDay(daysSince1970: day.daysSince1970 + days)
        return result.isInRange ? result : nil
    }

    /// The same day and time after this number of months, or before if negative. If that month lacks the day, its last
    /// day. Nil beyond 100,000,000 days.
    package func adding(months: Int) -> ISODate? {
        guard (-12_000_000...12_000_000).contains(months) else { return nil }
        let total = day.year * 12 + day.month - 1 + months
        let year = total.flooredQuotient(12)
        let month = total - year * 12 + 1
        let number = min(day.day, CalendarDay.length(ofMonth: month, year))
        guard let moved = CalendarDay(year: year, month: month, day: number) else { return nil }
        var result = self
        result.day = moved
        return result.isInRange ? result : nil
    }

    private var isInRange: Bool { (-100_000_000..<100_000_000).contains(day.daysSince1970) }

    /// A time in UTC, without a fraction; nil beyond 100,000,000 days.
    package static func utc(seconds: Int) -> ISODate? {
        guard (-8_640_000_000_000...8_640_000_000_000).contains(seconds) else { return nil }
        return ISODate(seconds: seconds)
    }

    /// `2026-11-20T10:00:00Z`, without the fraction, as jq's `todate` writes it. Nil outside the years 0 to 9999.
    ///
    /// - Parameter seconds: Since 1970; rounded down.
    package static func text(ofSeconds seconds: Double) -> String? {
        guard (-62_167_219_200..<253_402_300_800).contains(seconds) else { return nil }
        return ISODate(seconds: Int(seconds.rounded(.down))).text
    }
}

/// Why a text is not an ``ISODate``.
package enum ISODateError: Error, Sendable {
    case malformed
    /// The day does not exist, for example 30 February.
    case noSuchDay
    /// There is a time, but no zone.
    case noZone

    /// The cause and the remedy, as the continuation of "which".
    package var explanation: String {
        switch self {
        case .malformed: "is not a time; write a date such as 2026-11-20T10:00:00Z or 2026-11-20"
        case .noSuchDay: "names a day that does not exist; check month and day"
        case .noZone: "has a time without a zone; append Z if it is UTC, or an offset such as +01:00"
        }
    }
}
