/// Times as people write them.
package enum PointInTime {
    /// Seconds since 1970 of `2026-11-20T10:00:00Z`, with any offset (`+01:00`), fractions of a second cut off, or
    /// `2026-11-20` (midnight UTC), or of the seconds themselves; nil for all other texts.
    ///
    /// - Note: Source: RFC 3339, without leap seconds.
    package static func seconds(_ text: String) -> Int? {
        if let seconds = Int(text) { return seconds.magnitude < 1 << 53 ? seconds : nil }
        var rest = text.utf8[...]
        guard let year = take(4, &rest), skip("-", &rest), let month = take(2, &rest), (1...12).contains(month),
            skip("-", &rest), let day = take(2, &rest), (1...length(ofMonth: month, year)).contains(day)
        else { return nil }
        let midnight = days(year, month, day) * 86_400
        if rest.isEmpty { return midnight }
        guard skip("T", &rest) || skip("t", &rest) || skip(" ", &rest), let hour = take(2, &rest), hour < 24,
            skip(":", &rest), let minute = take(2, &rest), minute < 60, skip(":", &rest),
            let second = take(2, &rest), second < 60
        else { return nil }
        if skip(".", &rest) {
            let digits = rest.prefix { (0x30...0x39).contains($0) }
            guard !digits.isEmpty else { return nil }
            rest = rest[digits.endIndex...]
        }
        guard let east = zone(&rest), rest.isEmpty else { return nil }
        return midnight + hour * 3600 + minute * 60 + second - east
    }

    /// Seconds that the clocks there are ahead of UTC.
    private static func zone(_ rest: inout Substring.UTF8View) -> Int? {
        if skip("Z", &rest) || skip("z", &rest) { return 0 }
        let sign = skip("+", &rest) ? 1 : skip("-", &rest) ? -1 : 0
        guard sign != 0, let hours = take(2, &rest), hours < 24, skip(":", &rest), let minutes = take(2, &rest),
            minutes < 60
        else { return nil }
        return sign * (hours * 3600 + minutes * 60)
    }

    private static func take(_ count: Int, _ rest: inout Substring.UTF8View) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func skip(_ character: Unicode.Scalar, _ rest: inout Substring.UTF8View) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }

    private static func length(ofMonth month: Int, _ year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    /// Days since 1970 of a date of the Gregorian calendar. Years begin in March, so that leap days come last.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        let shifted = month > 2 ? year : year - 1
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
