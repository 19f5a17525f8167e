internal import CJQ
internal import Encodings
internal import Glibc

/// jq's `strptime` with corrections: jq ignores zones and reads 30 February as 2 March.
enum TimeFormat {
    typealias Refusal = ProgramFunctions.Refusal

    /// Reads a text like the C library, in UTC. Applies the offset of `%z`. With `%Z`, the name must denote UTC.
    ///
    /// - Returns: The list that jq makes of a `tm`. Any trailing text is its last element.
    static func parse(_ value: jv, _ format: jv) throws(Refusal) -> jv {
        guard let text = value.text, let pattern = format.text else {
            throw Refusal(message: "strptime/1 requires string inputs and arguments")
        }
        let letters = conversions(pattern)
        if let zone = letters.first(where: { $0.letter == "Z" }) {
            try checkZoneName(text, String(pattern[..<zone.start]), value)
        }
        var time = tm()
        (time.tm_wday, time.tm_yday) = (8, 367)
        guard let rest = read(text, pattern, &time) else {
            throw Refusal(message: "date \(value.excerpt) does not match format \(format.excerpt)")
        }
        // 29 February without a year, such as a birthday, is valid.
        let isLeapDay = time.tm_mon == 1 && time.tm_mday == 29
        if !isLeapDay || letters.contains(where: { "YyCGgFDcxs+".contains($0.letter) }) {
            try complete(&time, value, hasOffset: letters.contains { $0.letter == "z" })
        }
        return list(time, rest)
    }

    /// The letters after `%`, with their positions.
    private static func conversions(_ pattern: String) -> [(letter: Character, start: String.Index)] {
        var found: [(letter: Character, start: String.Index)] = []
        var at = pattern.startIndex
        while let start = pattern[at...].firstIndex(of: "%") {
            at = pattern.index(after: start)
            // Flags, a width and modifiers.
            while at < pattern.endIndex, "_-0^#EO123456789".contains(pattern[at]) { at = pattern.index(after: at) }
            guard at < pattern.endIndex else { break }
            found.append((pattern[at], start))
            at = pattern.index(after: at)
        }
        return found
    }

    /// The rest of the text. Nil if it does not match.
    private static func read(_ text: String, _ pattern: String, _ time: inout tm) -> String? {
        text.withCString { start in
            guard let end = strptime(start, pattern, &time) else { return nil }
            let rest = String(cString: end)
            return rest.isEmpty || rest.unicodeScalars.first?.properties.isWhitespace == true ? rest : nil
        }
    }

    /// The C library skips the name without checking it.
    private static func checkZoneName(_ text: String, _ before: String, _ value: jv) throws(Refusal) {
        var time = tm()
        let rest = text.withCString { start in strptime(start, before, &time).map { String(cString: $0) } }
        guard let rest else { return }
        let name = rest.drop { $0.isWhitespace }.prefix { !$0.isWhitespace }
        guard !["UTC", "GMT", "UT", "Z"].contains(name.uppercased()) else { return }
        throw Refusal(
            message:
                "strptime got \(value.excerpt): %Z can't read the zone '\(displayText(String(name), limit: 20))'; "
                + "write its offset, such as +01:00, and read it with %z")
    }

    private static func complete(_ time: inout tm, _ value: jv, hasOffset: Bool) throws(Refusal) {
        guard time.tm_mday > 0 else { return }
        let year = Int(time.tm_year) + 1900
        guard let day = CalendarDay(year: year, month: Int(time.tm_mon) + 1, day: Int(time.tm_mday)) else {
            throw Refusal(
                message: "strptime got \(value.excerpt), which names a day that does not exist; check month and day")
        }
        var days = day.daysSince1970
        if hasOffset {
            let local = days * 86_400 + Int(time.tm_hour) * 3600 + Int(time.tm_min) * 60
            let utc = local - Int(time.tm_gmtoff)
            days = utc.flooredQuotient(86_400)
            let moved = CalendarDay(daysSince1970: days)
            (time.tm_year, time.tm_mon, time.tm_mday) = (
                Int32(moved.year - 1900), Int32(moved.month - 1), Int32(moved.day)
            )
            (time.tm_hour, time.tm_min) = (Int32((utc - days * 86_400) / 3600), Int32((utc - days * 86_400) / 60 % 60))
        }
        if hasOffset || time.tm_wday == 8 {
            time.tm_wday = Int32((days + 4) - (days + 4).flooredQuotient(7) * 7)
        }
        if hasOffset || time.tm_yday == 367, let first = CalendarDay(year: Int(time.tm_year) + 1900, month: 1, day: 1) {
            time.tm_yday = Int32(days - first.daysSince1970)
        }
    }

    private static func list(_ time: tm, _ rest: String) -> jv {
        let parts = [
            time.tm_year + 1900, time.tm_mon, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec, time.tm_wday,
            time.tm_yday,
        ]
        let list = parts.reduce(jv_array()) { jv_array_append($0, jv_number(Double($1))) }
        return rest.isEmpty ? list : jv_array_append(list, jv_string(rest))
    }
}
