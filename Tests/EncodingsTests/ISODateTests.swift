import Testing

@testable import Encodings

@Suite struct ISODateTests {
    @Test(arguments: [
        ("2026-01-01", 2026, 1, 4), ("2024-12-30", 2025, 1, 1), ("2027-01-03", 2026, 53, 7),
        ("2026-12-31", 2026, 53, 4),
    ])
    func weekDatesMatchCalendar(day: String, year: Int, week: Int, weekday: Int) throws {
        let text = "\(year)-W\(week.padded(to: 2))-\(weekday)"
        #expect(try ISODate(text).text == day)
        #expect(try ISODate(text.replacing("-", with: "")).text == day)
    }

    @Test(arguments: [
        "2026-11-20T08:15:21.407Z", "2026-11-20T08:15:21+01:00", "2026-11-20", "0000-01-01T00:00:00-00:30",
        "+012026-11-20",
    ])
    func extendedFormIsWrittenAsRead(text: String) throws { #expect(try ISODate(text).text == text) }

    /// A comma is ISO 8601's own decimal sign.
    @Test func decimalCommaIsRead() throws {
        #expect(try ISODate("2026-11-20T08:15:21,407Z").text == "2026-11-20T08:15:21.407Z")
    }

    @Test(arguments: [
        "", "2026", "2026-11", "2026-11-2", "2026-11-20T", "2026-11-20T08Zx", "2026-11-20T08:60Z", "2026-11-20T25:00Z",
        "2026-11-20T24:00:01Z", "2026-11-20T08:15:61Z", "2026-11-20T08:15:21.Z", "2026-11-20T08:15:21+1", "2026-W47",
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
