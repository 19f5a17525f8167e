internal import CJQ
internal import Encodings

/// The functions that read, write and move times.
enum ProgramTime {
    typealias Refusal = ProgramFunctions.Refusal

    /// `parse_time` and `fromdate`: the seconds since 1970 of any ISO 8601 text. `parse_time` also accepts a number,
    /// which is already in seconds.
    static func seconds(_ value: jv, _ name: String) throws(Refusal) -> Double {
        if name == "parse_time", let number = value.number, number.isFinite { return number }
        return try date(value, name).secondsWithFraction
    }

    private static func date(_ value: jv, _ name: String) throws(Refusal) -> ISODate {
        guard let text = value.text else {
            let wanted = name == "fromdate" ? "a string" : "a string or a number of seconds"
            throw Refusal(
                message: "\(name) needs \(wanted), such as 2026-11-20T10:00:00Z, but got \(value.excerpt); check the "
                    + "value first")
        }
        do throws(ISODateError) { return try ISODate(text) } catch {
            throw Refusal(message: "\(name) got \(value.excerpt), which \(error.explanation)")
        }
    }

    /// `todate`.
    static func text(_ value: jv) throws(Refusal) -> String {
        guard let number = value.number else {
            throw Refusal(message: "todate needs a number of seconds since 1970, but got \(value.excerpt)")
        }
        guard let text = ISODate.text(ofSeconds: number) else { throw outOfRange("todate", value) }
        return text
    }

    private static func outOfRange(_ name: String, _ value: jv) -> Refusal {
        Refusal(
            message: "\(name) got \(value.excerpt), which is not a time in the years 0 to 9999; it must be seconds "
                + "since 1970, so divide milliseconds by 1000")
    }

    /// `add_days`, `add_months` and `add_years`. A text stays a text in the same form and zone. A number stays a
    /// number.
    static func moved(_ value: jv, _ name: String, _ count: jv) throws(Refusal) -> jv {
        guard let number = count.number, number.rounded() == number, number.magnitude < 1e9 else {
            throw Refusal(message: "\(name) needs a whole number, but got \(count.excerpt)")
        }
        let seconds = value.number
        let start: ISODate
        if let seconds {
            guard ISODate.text(ofSeconds: seconds) != nil, let date = ISODate.utc(seconds: Int(seconds.rounded(.down)))
            else { throw outOfRange(name, value) }
            start = date
        } else {
            start = try date(value, name)
        }
        let days = name == "add_days"
        let moved =
            days ? start.adding(days: Int(number)) : start.adding(months: Int(number) * (name == "add_years" ? 12 : 1))
        guard let moved, ISODate.text(ofSeconds: moved.secondsWithFraction) != nil else {
            throw Refusal(message: "\(name)(\(count.excerpt)) of \(value.excerpt) is outside the years 0 to 9999")
        }
        if let seconds { return jv_number(Double(moved.seconds) + (seconds - seconds.rounded(.down))) }
        return jv_string(moved.text)
    }

    /// Refuses values that would crash jq or give nonsense, because it converts them to C integers unchecked. jq has
    /// its own messages for values of other kinds.
    static func check(_ value: jv, _ name: String) throws(Refusal) {
        if let number = value.number {
            guard number.magnitude <= 8.64e12 else { throw outOfRange(name, value) }
            return
        }
        guard jv_get_kind(value) == JV_KIND_ARRAY else { return }
        for (index, range) in ranges.enumerated() where index < Int(jv_array_length(jv_copy(value))) {
            let part = jv_array_get(jv_copy(value), Int32(index))
            defer { jv_free(part) }
            guard let number = part.number else { continue }
            // mktime normalizes overflowing parts, so programs may add to them.
            guard name == "mktime" && index > 0 ? number.magnitude <= 0x1p31 - 1 : range.contains(number) else {
                throw Refusal(
                    message: "\(name) got \(value.excerpt), which is not a time: \(names[index]) is \(part.excerpt)")
            }
        }
    }

    private static let names = [
        "the year", "the month, counted from 0,", "the day", "the hour", "the minute", "the second", "the weekday",
        "the day of the year, counted from 0,",
    ]
    /// Includes the day 0, the weekday 8 and the year days -1 and 367, which `strptime` returns for a text that does
    /// not set them.
    private static let ranges: [Range<Double>] = [
        -271_821..<275_761, 0..<12, 0..<32, 0..<24, 0..<60, 0..<62, 0..<9, -1..<368,
    ]
}
