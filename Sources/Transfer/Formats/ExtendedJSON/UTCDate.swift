/// A time in UTC as JSON documents spell it: `YYYY-MM-DDTHH:MM:SS.mmmZ`.
///
/// Years outside 0 to 9999 have a sign and six digits.
///
/// - Note: Source: ECMA-262, section 21.4.1.32; days are counted as in Howard Hinnant's `chrono` algorithms.
struct UTCDate {
    private static let secondsOfDay = 86_400
    /// 100,000,000 days around the epoch, as ECMAScript has them.
    private static let range = -8_640_000_000_000_000...8_640_000_000_000_000

    /// Since 1970.
    private let seconds: Int
    /// Digits behind the point, at least three.
    private let fraction: String

    /// - Parameter milliseconds: Since 1970. Nil if they are beyond 100,000,000 days.
    init?(milliseconds: Int) {
        guard Self.range.contains(milliseconds) else { return nil }
        let thousandths = milliseconds - Self.floor(milliseconds, 1000) * 1000
        seconds = Self.floor(milliseconds, 1000)
        fraction = Self.padded(thousandths, 3)
    }

    /// - Parameter characters: A date and a time with its zone, as `2026-11-20T10:00:00.5+01:00`; seconds, their
    ///   fraction and the colon of the zone may be missing.
    init?(iso8601 characters: [UInt8]) {
        var text = DateText(characters)
        guard let year = text.year(), text.take("-"), let month = text.number(1...12), text.take("-"),
            let day = text.number(1...Self.days(in: month, of: year)), text.take("T"), let hour = text.number(0...23),
            text.take(":"), let minute = text.number(0...59)
        else { return nil }
        var second = 0
        var digits = ""
        if text.take(":") {
            guard let number = text.number(0...59) else { return nil }
            second = number
            if text.take(".") {
                digits = text.digits()
                guard !digits.isEmpty else { return nil }
            }
        }
        guard let zone = text.zone(), text.isAtEnd else { return nil }
        let days = Self.days(before: year, month, day)
        seconds = days * Self.secondsOfDay + hour * 3600 + (minute - zone) * 60 + second
        fraction = digits + String(repeating: "0", count: max(3 - digits.utf8.count, 0))
    }

    var text: String {
        let day = Self.floor(seconds, Self.secondsOfDay)
        let second = seconds - day * Self.secondsOfDay
        let (year, month, date) = Self.civil(day)
        let years =
            (0...9999).contains(year)
            ? Self.padded(year, 4) : (year < 0 ? "-" : "+") + Self.padded(Int(year.magnitude), 6)
        let time = [second / 3600, second / 60 % 60, second % 60].map { Self.padded($0, 2) }.joined(separator: ":")
        return "\(years)-\(Self.padded(month, 2))-\(Self.padded(date, 2))T\(time).\(fraction)Z"
    }

    private static func padded(_ number: Int, _ width: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: max(width - digits.utf8.count, 0)) + digits
    }

    private static func floor(_ number: Int, _ divisor: Int) -> Int {
        number / divisor - (number % divisor < 0 ? 1 : 0)
    }
}

// MARK: - The calendar

extension UTCDate {
    private static func days(in month: Int, of year: Int) -> Int {
        if month == 2 { return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28 }
        return [4, 6, 9, 11].contains(month) ? 30 : 31
    }

    /// Days from 1970-01-01. Years begin in March here, so that the leap day is the last.
    private static func days(before year: Int, _ month: Int, _ day: Int) -> Int {
        let year = month <= 2 ? year - 1 : year
        let era = floor(year, 400)
        let yearOfEra = year - era * 400
        let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }

    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let era = floor(days + 719_468, 146_097)
        let dayOfEra = days + 719_468 - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shifted = (5 * dayOfYear + 2) / 153
        let month = shifted < 10 ? shifted + 3 : shifted - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shifted + 2) / 5 + 1)
    }
}

/// Takes the text of a date apart.
private struct DateText {
    private var rest: ArraySlice<UInt8>

    init(_ characters: [UInt8]) { rest = characters[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
    }

    mutating func digits() -> String {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest = rest.dropFirst(digits.count)
        return String(decoding: digits, as: UTF8.self)
    }

    /// Two digits.
    mutating func number(_ range: ClosedRange<Int>) -> Int? {
        guard let number = number(width: 2), range.contains(number) else { return nil }
        return number
    }

    /// Four digits, or a sign and six.
    mutating func year() -> Int? {
        if take("+") { return number(width: 6) }
        if take("-") { return number(width: 6).map { -$0 } }
        return number(width: 4)
    }

    /// Minutes east of UTC.
    mutating func zone() -> Int? {
        if take("Z") { return 0 }
        let isEast = take("+")
        guard isEast || take("-"), let hours = number(0...23) else { return nil }
        _ = take(":")
        guard let minutes = number(0...59) else { return nil }
        return (isEast ? 1 : -1) * (hours * 60 + minutes)
    }

    private mutating func number(width: Int) -> Int? {
        let digits = rest.prefix(width)
        guard digits.count == width, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(width)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
