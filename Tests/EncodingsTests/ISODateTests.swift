import Testing

@testable import Encodings

@Suite struct ISODateTests {
    @Test(arguments: [
        ("2026-01-01", 2026, 1, 4), ("2024-12-30", 2025, 1, 1), ("2027-01-03", 2026, 53, 7),
        ("2026-12-31", 2026, 53, 4),
    ])
    func weekDatesMatchCalendar(day: String, year: Int, week: Int, weekday: Int) throws {
        let text = "\(year)-W\(week.padded(to: 2))-\(weekday)"
        #expect(try ISODate(text).seconds == ISODate(day).seconds)
        #expect(try ISODate(text).adding(days: 0)?.text == text)
        let basic = text.replacing("-", with: "")
        #expect(try ISODate(basic).seconds == ISODate(day).seconds)
        #expect(try ISODate(basic).text == basic)
    }

    /// A comma is ISO 8601's own decimal sign.
    @Test(arguments: [
        "2026-11-20T08:15:21.407Z", "2026-11-20T08:15:21+01:00", "2026-11-20", "0000-01-01T00:00:00-00:30",
        "+012026-11-20", "2026-11-20T08:15:21,407Z", "20261120T081521Z", "20261120T0815+01", "2026-11-20T08Z",
        "2026-11-20 08:15z", "2026-324", "2026324T08-0430", "2026-11-20t08:15.5Z", "2026-11-20T08,25+01:00",
    ])
    func everyFormIsWrittenAsRead(text: String) throws { #expect(try ISODate(text).text == text) }

    @Test(arguments: [
        ("2026-11-20T08:15.5Z", "2026-11-20T08:15:30Z"), ("2026-11-20T08.5Z", "2026-11-20T08:30:00Z"),
        ("2026-11-20T08,57Z", "2026-11-20T08:34:12Z"), ("20261120T0815.123Z", "2026-11-20T08:15:07.38Z"),
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"), ("2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00.5Z"),
        ("2017-01-01T05:29:60+05:30", "2017-01-01T00:00:00Z"), ("2015-06-30T16:59:60-07:00", "2015-07-01T00:00:00Z"),
        ("2026-11-20T24.0Z", "2026-11-21T00:00:00Z"),
    ])
    func fractionsAndLeapSecondsAreRead(text: String, same: String) throws {
        let (date, other) = try (ISODate(text), ISODate(same))
        #expect(date.secondsWithFraction == other.secondsWithFraction)
        #expect(date.seconds == other.seconds)
        #expect(date.secondsRoundedUp == other.secondsRoundedUp)
    }

    @Test(arguments: ["1795162521", "1795162521.5", "1795162521000"])
    func secondsAsTextAreReported(text: String) {
        #expect { _ = try ISODate(text) } throws: { error in
            (error as? ISODateError)?.explanation.contains("tonumber") == true
        }
    }

    /// They were called numbers.
    @Test(arguments: ["20.11.2026", "3.5.26", "11/20/2026", "20-11-2026 10:00"])
    func localFormIsNamed(text: String) {
        #expect { _ = try ISODate(text) } throws: { error in
            (error as? ISODateError)?.explanation.hasPrefix("is a date in a local form; write it as 2026-11-20") == true
        }
    }

    @Test(arguments: [
        "", "2026", "2026-11", "2026-11-2", "2026-11-20T", "2026-11-20T08Zx", "2026-11-20T08:60Z", "2026-11-20T25:00Z",
        "2026-11-20T24:00:01Z", "2026-11-20T08:15:61Z",
        "2026-11-20T23:59:60Z", "2016-12-31T23:58:60Z", "2026-12-31T24:00:60Z", "2026-11-20T24.5Z",
        "2026-11-20T08:15:21.Z", "2026-11-20T08:15:21+1", "2026-W47",
        "2026-W00-1", "2026-W47-8", "x", "2026-11-20T08:15:21 Z",
    ])
    func otherTextsAreMalformed(text: String) {
        #expect { _ = try ISODate(text) } throws: { error in
            if case ISODateError.malformed = error { true } else { false }
        }
    }

    @Test(arguments: ["2026-02-29", "2026-13-01", "2026-00-01", "2026-11-31", "2026-366", "2026-000", "2025-W53-1"])
    func nonexistentDaysAreReported(text: String) {
        #expect { _ = try ISODate(text) } throws: { error in
            if case ISODateError.noSuchDay = error { true } else { false }
        }
    }

    @Test func addingMonthsKeepsDayOrUsesLastDay() throws {
        let date = try ISODate("2026-10-31T23:30:00.5+02:00")
        #expect(date.adding(months: 1)?.text == "2026-11-30T23:30:00.5+02:00")
        #expect(date.adding(months: -8)?.text == "2026-02-28T23:30:00.5+02:00")
        #expect(date.adding(days: 1)?.text == "2026-11-01T23:30:00.5+02:00")
        #expect(date.adding(days: .max) == nil && date.adding(months: .min) == nil)
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00Z"), (1_795_162_521.907, "2026-11-20T08:15:21Z"), (-0.25, "1969-12-31T23:59:59Z"),
        (253_402_300_799.5, "9999-12-31T23:59:59Z"),
    ])
    func secondsAreWrittenWithoutFraction(seconds: Double, text: String) {
        #expect(ISODate.text(ofSeconds: seconds) == text)
    }

    @Test(arguments: [253_402_300_800, -62_167_219_201, Double.nan, .infinity, -.infinity])
    func secondsOutsideFourDigitYearsAreNil(seconds: Double) { #expect(ISODate.text(ofSeconds: seconds) == nil) }
}
