import Glibc
import Testing

@testable import Encodings

@Suite struct UTCDateTests {
    /// 400 years and some, against the C library.
    @Test func daysMatchTheSystem() {
        for day in stride(from: -800_000, through: 800_000, by: 97) {
            var seconds = day * 86_400 + 3661
            var parts = tm()
            gmtime_r(&seconds, &parts)
            let calendar = CalendarDay(daysSince1970: day)
            #expect(calendar.year == Int(parts.tm_year) + 1900)
            #expect(calendar.month == Int(parts.tm_mon) + 1)
            #expect(calendar.day == Int(parts.tm_mday))
            #expect(calendar.daysSince1970 == day)
        }
    }

    @Test(arguments: [(2026, 2, 29), (2100, 2, 29), (2026, 4, 31), (2026, 13, 1), (2026, 0, 1), (2026, 1, 0)])
    func nonexistentDaysAreNil(year: Int, month: Int, day: Int) {
        #expect(CalendarDay(year: year, month: month, day: day) == nil)
    }

    @Test(
        arguments: [
            ("2026-11-20T10:00:00Z", "2026-11-20T10:00:00.000Z", "2026-11-20T10:00:00.000Z"),
            ("2026-11-20T10:00Z", nil, "2026-11-20T10:00:00.000Z"),
            ("2026-11-20T10:00:00.5+0130", nil, "2026-11-20T08:30:00.500Z"),
            ("2026-11-20T00:30:00.1234567+01:00", "2026-11-19T23:30:00.1234567Z", "2026-11-19T23:30:00.1234567Z"),
            ("2026-11-20", "2026-11-20T00:00:00.000Z", nil),
            ("+012026-11-20T10:00Z", nil, "+012026-11-20T10:00:00.000Z"),
            ("-000001-01-01T00:00:00Z", nil, "-000001-01-01T00:00:00.000Z"),
            ("2026-11-20 10:00:00z", "2026-11-20T10:00:00.000Z", nil), ("2026-11-20T10:00:00", nil, nil),
            ("2026-11-20T10:00:00.Z", nil, nil), ("2026-11-20T24:00:00Z", nil, nil), ("2026-02-29T00:00:00Z", nil, nil),
            ("2026-11-20T10:00:00Zx", nil, nil), ("", nil, nil), ("2026", nil, nil),
        ] as [(String, String?, String?)])
    func bothFormsAreReadAsSpecified(text: String, rfc3339: String?, ecmaScript: String?) {
        #expect(UTCDate(rfc3339: text)?.text == rfc3339)
        #expect(UTCDate(ecmaScript: Array(text.utf8))?.text == ecmaScript)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"),
        (8_640_000_000_000_000, "+275760-09-13T00:00:00.000Z"), (-8_640_000_000_000_000, "-271821-04-20T00:00:00.000Z"),
    ])
    func millisecondsAreWritten(milliseconds: Int, text: String) {
        #expect(UTCDate(milliseconds: milliseconds)?.text == text)
    }

    @Test(arguments: [8_640_000_000_000_001, .min, .max])
    func timesOutOfRangeAreNil(milliseconds: Int) {
        #expect(UTCDate(milliseconds: milliseconds) == nil)
    }

    @Test(arguments: [
        (1_795_256_475, "2026-11-21T10:21:15Z"), (Int.min, "0000-01-01T00:00:00Z"), (Int.max, "9999-12-31T23:59:59Z"),
    ])
    func timestampsHaveFourDigitYears(seconds: Int, text: String) {
        #expect(Timestamp.text(seconds) == text)
    }
}
