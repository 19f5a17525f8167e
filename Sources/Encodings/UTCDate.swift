/// A point in time as JSON documents write it: `YYYY-MM-DDTHH:MM:SS.mmmZ`.
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
        let day = CalendarDay(daysSince1970: days)
        let year =
            (0...9999).contains(day.year)
            ? day.year.padded(to: 4) : (day.year < 0 ? "-" : "+") + Int(day.year.magnitude).padded(to: 6)
        let time = [second / 3600, second / 60 % 60, second % 60].map { $0.padded(to: 2) }.joined(separator: ":")
        return "\(year)-\(day.month.padded(to: 2))-\(day.day.padded(to: 2))T\(time)"
    }
}

/// Reads the text of a date from its start.
private struct DateText {
    enum Colon { case required, optional }

    private var rest: ArraySlice<UInt8>

    init(_ characters: [UInt8]) { rest = characters[...] }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest.removeFirst()
        return true
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

    /// The rest of a date after its year: `-11-20`.
    mutating func day(_ year: Int?) -> CalendarDay? {
        guard let year, take("-"), let month = number(1...12), take("-"), let day = number(1...31) else { return nil }
        return CalendarDay(year: year, month: month, day: day)
    }

    /// `10:30`, in minutes.
    mutating func hoursAndMinutes() -> Int? {
        guard let hour = number(0...23), take(":"), let minute = number(0...59) else { return nil }
        return hour * 60 + minute
    }

    /// The digits after a decimal point; empty if there is no point, nil if no digit follows it.
    mutating func fraction() -> String? {
        guard take(".") else { return "" }
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest = rest.dropFirst(digits.count)
        return digits.isEmpty ? nil : String(decoding: digits, as: UTF8.self)
    }

    /// `+01:00`, in minutes east of UTC.
    mutating func offset(colon: Colon) -> Int? {
        let isEast = take("+")
        guard isEast || take("-"), let hours = number(0...23) else { return nil }
        guard take(":") || colon == .optional, let minutes = number(0...59) else { return nil }
        return (isEast ? 1 : -1) * (hours * 60 + minutes)
    }

    mutating func number(width: Int) -> Int? {
        let digits = rest.prefix(width)
        guard digits.count == width, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(width)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }
}
