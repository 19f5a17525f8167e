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
    /// Without the fraction.
    private var secondOfDay = 0
    /// The digits after the decimal sign, of the form's unit.
    private var fraction = ""
    private var zone = Zone.none
    private var form = ISODateForm()

    /// - Parameter text: For example `2026-11-20T10:00:00.5+01:00`, `20261120T1000Z`, `2026-W47-5` or `2026-11-20`.
    ///   Seconds, minutes and the colon of the zone may be missing, and the smallest unit may have a fraction. A `t` or a
    ///   space may separate date and time. A leap second is the same moment as the second after it.
    /// - Throws: Why the text does not specify a moment.
    package init(_ text: String) throws(ISODateError) {
        if Self.isLocalForm(text) { throw .localForm }
        // The longest day in digits has 8.
        if text.utf8.count > 8, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 || $0 == UInt8(ascii: ".") }) { throw .number }
        var text = DateText(Array(text.utf8))
        day = try Self.day(&text, &form)
        guard !text.isAtEnd else { return }
        guard let separator = ["T", "t", " "].first(where: { text.take($0) }) else { throw .malformed }
        form.separator = separator
        let isLeapSecond = try readTime(&text)
        guard !text.isAtEnd else { throw .noZone }
        zone = try Self.zone(&text, &form)
        guard text.isAtEnd, !isLeapSecond || isStartOfMonth else { throw .malformed }
    }

    /// `20.11.2026`, `11/20/26`, `20-11-2026 10:00`: the year comes last.
    private static func isLocalForm(_ text: String) -> Bool {
        guard text.utf8.prefix(3).dropFirst().contains(where: "./-".utf8.contains) else { return false }
        let parts = text.prefix { $0 != " " && $0 != "," }
            .split(omittingEmptySubsequences: false) { "./-".contains($0) }
        let lengths = parts.map(\.utf8.count)
        return lengths.count == 3 && (1...2).contains(lengths[0]) && (1...2).contains(lengths[1])
            && [2, 4].contains(lengths[2]) && parts.allSatisfy { $0.utf8.allSatisfy { 0x30...0x39 ~= $0 } }
    }

    /// In UTC.
    private var isStartOfMonth: Bool {
        let days = seconds.flooredQuotient(Self.secondsOfDay)
        return days * Self.secondsOfDay == seconds && CalendarDay(daysSince1970: days).day == 1
    }

    private static func day(_ text: inout DateText, _ form: inout ISODateForm) throws(ISODateError) -> CalendarDay {
        guard let year = text.year() else { throw .malformed }
        let isExtended = text.take("-")
        form.isDayExtended = isExtended
        if text.take("W") {
            form.day = .week
            guard let week = text.number(1...53), !isExtended || text.take("-"),
                let weekday = text.number(width: 1), (1...7).contains(weekday)
            else { throw .malformed }
            return try Self.day(year: year, week: week, weekday)
        }
        if text.digitCount == 3 {
            form.day = .ordinal
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

    /// - Returns: Whether it is a leap second, `23:59:60` in UTC.
    private mutating func readTime(_ text: inout DateText) throws(ISODateError) -> Bool {
        guard let hour = text.number(0...24) else { throw .malformed }
        form.isTimeExtended = text.take(":")
        form.unit = .hour
        var (minute, second) = (0, 0)
        if form.isTimeExtended || text.digitCount >= 2 {
            guard let number = text.number(0...59) else { throw .malformed }
            minute = number
            form.unit = .minute
            if form.isTimeExtended ? text.take(":") : text.digitCount >= 2 {
                guard let number = text.number(0...60) else { throw .malformed }
                second = number
                form.unit = .second
            }
        }
        form.decimalSign = text.next == UInt8(ascii: ",") ? "," : "."
        guard let digits = text.fraction(allowsComma: true) else { throw .malformed }
        fraction = digits
        secondOfDay = hour * 3600 + minute * 60 + second
        let isEndOfDay = secondOfDay == Self.secondsOfDay
        guard hour < 24 || isEndOfDay && second == 0 && digits.allSatisfy({ $0 == "0" }) else { throw .malformed }
        // The end of a day is the start of the next.
        if isEndOfDay {
            secondOfDay = 0
            day = CalendarDay(daysSince1970: day.daysSince1970 + 1)
        }
        return second == 60
    }

    private static func zone(_ text: inout DateText, _ form: inout ISODateForm) throws(ISODateError) -> Zone {
        if let utc = ["Z", "z"].first(where: { text.take($0) }) {
            form.utc = utc
            return .utc
        }
        let isEast = text.take("+")
        guard isEast || text.take("-"), let hours = text.number(0...23) else { throw .malformed }
        var minutes = 0
        form.offset = text.isAtEnd ? .hours : text.take(":") ? .extended : .basic
        if form.offset != .hours {
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
        let local = day.daysSince1970 * Self.secondsOfDay + secondOfDay + fractionInSeconds.whole
        if case .offset(let minutes) = zone { return local - minutes * 60 }
        return local
    }

    /// ``seconds`` and their fraction, as exactly as a double holds it.
    package var secondsWithFraction: Double {
        let digits = fractionInSeconds.digits
        return digits.isEmpty ? Double(seconds) : Double(seconds) + (Double("0.\(digits)") ?? 0)
    }

    /// The digits of the fraction of ``seconds``. Empty without one.
    package var fractionDigits: String { fractionInSeconds.digits }

    /// ``seconds``, or one more if there is a fraction.
    package var secondsRoundedUp: Int {
        fractionInSeconds.digits.allSatisfy { $0 == "0" } ? seconds : seconds + 1
    }

    /// The fraction of the smallest unit as whole seconds and the digits of their fraction, exactly.
    private var fractionInSeconds: (whole: Int, digits: String) {
        guard form.unit != .second, !fraction.isEmpty else { return (0, fraction) }
        var (whole, digits) = (0, "")
        for digit in fraction.utf8.reversed() {
            let product = Int(digit - 0x30) * form.unit.rawValue + whole
            digits = "\(product % 10)" + digits
            whole = product / 10
        }
        return (whole, digits)
    }

    /// In the form of the text that was read: a date, or a date and a time with the same zone and digits.
    package var text: String {
        let date = form.text(of: day)
        let start = "\(date)\(form.separator)\(form.time(secondOfDay, fraction))"
        return switch zone {
        case .none: date
        case .utc: "\(start)\(form.utc)"
        case .offset(let minutes): start + form.text(ofOffset: minutes)
        }
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
    /// Digits that are too many for a date.
    case number
    /// A date with the year at its end, such as `20.11.2026`.
    case localForm

    /// The cause and the remedy, as the continuation of "which".
    package var explanation: String {
        switch self {
        case .malformed: "is not a time; write a date such as 2026-11-20T10:00:00Z or 2026-11-20"
        case .noSuchDay: "names a day that does not exist; check month and day"
        case .localForm:
            "is a date in a local form; write it as 2026-11-20, or convert it in a program: "
                + #"strptime("%d.%m.%Y") | mktime reads 20.11.2026"#
        case .number: "is a number as text; convert it with tonumber, to seconds since 1970"
        case .noZone: "has a time without a zone; append Z if it is UTC, or an offset such as +01:00"
        }
    }
}
