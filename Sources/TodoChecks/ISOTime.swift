internal import Encodings

/// Checks times in the app's format.
enum ISOTime {
    /// Whether the characters are a date, `T`, a time of day with or without a fraction, and `Z` or an offset:
    /// `2026-11-20T10:00:00.000Z`. The day must exist in the calendar.
    ///
    /// - Note: Source: ISO 8601 in the profile of RFC 3339, section 5.6, in upper case and without leap seconds.
    static func isTime(_ text: [UInt8]) -> Bool {
        var rest = text[...]
        guard let year = take(4, &rest), skip("-", &rest), let month = take(2, &rest), (1...12).contains(month),
            skip("-", &rest), let day = take(2, &rest),
            (1...CalendarDay.length(ofMonth: month, year)).contains(day),
            skip("T", &rest), let hour = take(2, &rest), hour < 24, skip(":", &rest),
            let minute = take(2, &rest), minute < 60, skip(":", &rest), let second = take(2, &rest), second < 60
        else { return false }
        if skip(".", &rest) {
            let digits = rest.prefix(while: isDigit)
            guard !digits.isEmpty else { return false }
            rest = rest[digits.endIndex...]
        }
        return isZone(rest)
    }

    private static func isZone(_ text: ArraySlice<UInt8>) -> Bool {
        var rest = text
        if skip("Z", &rest) { return rest.isEmpty }
        guard skip("+", &rest) || skip("-", &rest), let hours = take(2, &rest), hours < 24, skip(":", &rest),
            let minutes = take(2, &rest), minutes < 60
        else { return false }
        return rest.isEmpty
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte &- UInt8(ascii: "0") < 10 }

    private static func take(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
        let digits = rest.prefix(count)
        guard digits.count == count, digits.allSatisfy(isDigit) else { return nil }
        rest = rest.dropFirst(count)
        return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func skip(_ character: Unicode.Scalar, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard rest.first == UInt8(ascii: character) else { return false }
        rest = rest.dropFirst()
        return true
    }
}
