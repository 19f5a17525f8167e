import Encodings
import Testing

@testable import Rules

@Suite struct CronScheduleTests {
    /// Seconds since 1970 of a time in UTC.
    private func seconds(_ text: String) throws -> Int { try #require(UTCDate(rfc3339: text)?.seconds, "\(text)") }

    /// The times of a line, in UTC.
    private func times(_ line: String, _ zone: String = "UTC", after start: String, _ count: Int) throws -> [String] {
        let schedule = try CronSchedule(line)
        let clock = try #require(ZoneClock(zone))
        var time = try seconds(start)
        return try (0..<count).map { _ in
            time = try #require(schedule.next(after: time, on: clock))
            return Timestamp.text(time)
        }
    }

    @Test(arguments: [
        ("0 3 * * *", "2026-11-24T03:00:00Z", ["2026-11-25T03:00:00Z", "2026-11-26T03:00:00Z"]),
        ("0 3 * * *", "2026-11-24T02:59:59Z", ["2026-11-24T03:00:00Z"]),
        ("*/20 * * * *", "2026-12-31T23:30:00Z", ["2026-12-31T23:40:00Z", "2027-01-01T00:00:00Z"]),
        (
            "1-10/4,30 5 * * *", "2026-11-24T00:00:00Z",
            ["2026-11-24T05:01:00Z", "2026-11-24T05:05:00Z", "2026-11-24T05:09:00Z", "2026-11-24T05:30:00Z"]
        ),
        // 24 November 2026 is a Tuesday.
        ("0 9 * * mon-fri", "2026-11-27T09:00:00Z", ["2026-11-30T09:00:00Z"]),
        ("0 9 * * 7", "2026-11-24T00:00:00Z", ["2026-11-29T09:00:00Z"]),
        ("0 9 * * Sat-Sun", "2026-11-24T00:00:00Z", ["2026-11-28T09:00:00Z", "2026-11-29T09:00:00Z"]),
        ("0 9 * JAN,mar *", "2026-01-31T09:00:00Z", ["2026-03-01T09:00:00Z"]),
        // Either day field is enough, unless one of them has a star.
        (
            "0 0 13 * fri", "2026-11-01T00:00:00Z",
            ["2026-11-06T00:00:00Z", "2026-11-13T00:00:00Z", "2026-11-20T00:00:00Z"]
        ),
        ("0 0 30 2 mon", "2026-01-01T00:00:00Z", ["2026-02-02T00:00:00Z"]),
        ("0 0 */10 * tue", "2026-11-01T00:00:00Z", ["2026-12-01T00:00:00Z"]),
        ("0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00:00Z", "2032-02-29T00:00:00Z"]),
        ("0 0 29 2 *", "2096-03-01T00:00:00Z", ["2104-02-29T00:00:00Z"]),
        ("59 23 31 12 *", "2026-12-31T23:59:00Z", ["2027-12-31T23:59:00Z"]),
        ("@daily", "2026-11-24T10:00:00Z", ["2026-11-25T00:00:00Z"]),
        ("@Hourly", "2026-11-24T10:00:00Z", ["2026-11-24T11:00:00Z"]),
        ("@weekly", "2026-11-24T10:00:00Z", ["2026-11-29T00:00:00Z"]),
        ("@monthly", "2026-11-24T10:00:00Z", ["2026-12-01T00:00:00Z"]),
        ("@yearly", "2026-11-24T10:00:00Z", ["2027-01-01T00:00:00Z"]),
    ])
    func nextTimesFollowTheLine(line: String, start: String, expected: [String]) throws {
        #expect(try times(line, after: start, expected.count) == expected)
    }

    /// In Berlin, clocks skip 02:00 to 03:00 on 29 March 2026, and show it twice on 25 October.
    @Test(arguments: [
        (
            "30 2 * * *", "2026-03-28T00:00:00Z",
            ["2026-03-28T01:30:00Z", "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]
        ),
        ("0,15,30 2 * * *", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T00:00:00Z"]),
        ("30 2 * * *", "2026-10-24T12:00:00Z", ["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        // Between the two times.
        ("30 2 * * *", "2026-10-25T01:00:00Z", ["2026-10-26T01:30:00Z"]),
        // Every elapsed hour, whatever the clocks show.
        ("30 * * * *", "2026-03-29T00:00:00Z", ["2026-03-29T00:30:00Z", "2026-03-29T01:30:00Z"]),
        (
            "30 * * * *", "2026-10-24T23:45:00Z",
            ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z"]
        ),
        ("0 3 * * *", "2026-03-28T12:00:00Z", ["2026-03-29T01:00:00Z", "2026-03-30T01:00:00Z"]),
    ])
    func clockChangesAreRespected(line: String, start: String, expected: [String]) throws {
        #expect(try times(line, "Europe/Berlin", after: start, expected.count) == expected)
    }

    @Test func clockChangesAtMidnightAndSkippedDaysAreRespected() throws {
        // Cuba set its clocks back from 01:00 to 00:00 on 2 November 2025. Samoa skipped 30 December 2011.
        #expect(
            try times("*/30 * * * *", "America/Havana", after: "2025-11-02T04:00:00Z", 4)
                == ["2025-11-02T04:30:00Z", "2025-11-02T05:00:00Z", "2025-11-02T05:30:00Z", "2025-11-02T06:00:00Z"])
        #expect(
            try times("0 12 * * *", "Pacific/Apia", after: "2011-12-29T12:00:00Z", 3)
                == ["2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"])
    }

    /// Once on each day of a year, at 3 o'clock in Berlin.
    @Test func dailyLineFiresOncePerDayOfAYear() throws {
        let all = try times("0 3 * * *", "Europe/Berlin", after: "2026-01-01T00:00:00Z", 365)
        #expect(Set(all.map { $0.prefix(10) }).count == 365)
        let hours = Dictionary(grouping: all) { $0.suffix(9) }.mapValues(\.count)
        #expect(hours == ["01:00:00Z": 210, "02:00:00Z": 155])
    }

    @Test(arguments: [
        ("0 0 30 2 *", "never runs"), ("0 0 31 4,6,9,11 *", "never runs"), ("0 3 * *", "this one has 4"),
        ("0 0 3 * * *", "this one has 6"), ("", "this one has 0"),
        ("60 * * * *", "'60' is not a valid minute; write 0 to 59"),
        ("* 24 * * *", "'24' is not a valid hour"), ("* * 0 * *", "'0' is not a valid day of the month"),
        ("* * * 13 *", "'13' is not a valid month"),
        ("* * * * 8", "'8' is not a valid day of the week"), ("* * * * mo", "or the first three letters of its name"),
        ("*/0 * * * *", "the step in '*/0' must be a number of at least 1"), ("5/10 * * * *", "write 5-59/10"),
        ("30-10 * * * *", "runs backwards"), ("1,,2 * * * *", "'' is not a valid minute"),
        ("L * * * *", "'L' is not a valid minute"),
        ("-1 * * * *", "is not a valid minute"), ("1.5 * * * *", "is not a valid minute"),
        ("99999999999999999999 * * * *", "is not a valid minute"),
        ("@reboot", "'@reboot' is not known; write one of @annually, @daily"), ("٣ * * * *", "is not a valid minute"),
    ])
    func invalidLineIsAnError(line: String, message: String) throws {
        let error = #expect(throws: CronError.self) { try CronSchedule(line) }
        #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    }

    @Test(arguments: [
        ("every: 5\n", "r.yaml:2:8: 'every' must be a cron line"),
        ("every: \"0 0 30 2 *\"\n", "r.yaml:2:8: 'every': that day never occurs, so the schedule never runs"),
        (
            "every: \"0 3 * * *\"\ntime_zone: Europe/Berln\n",
            "r.yaml:3:12: 'Europe/Berln' is not the name of a time zone: did you mean 'Europe/Berlin'?"
        ),
        ("every: \"0 3 * * *\"\ntime_zone: GMT+3\n", "'GMT+3' is not the name of a time zone"),
        ("every: \"0 3 * * *\"\ntime_zone: \"\"\n", "'time_zone' is empty"),
        ("time_zone: UTC\n", "r.yaml:2:12: 'time_zone' is for 'every', which is missing"),
        ("kind: mapping\nevery: \"0 3 * * *\"\n", "r.yaml:3:8: 'every' has no meaning in a mapping"),
    ])
    func fileWithAnInvalidScheduleIsRefused(head: String, message: String) {
        let found = errors("version: 1\n\(head)rules: []\n")
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test func rulesWithTheSameScheduleRunTogether() throws {
        let head = "version: 1\nevery: '0 3 * * *'\n"
        let shared = RuleReading.Shared()
        func file(_ path: String, _ head: String, _ rule: String) -> RuleFile {
            RuleFile(
                path: path, bytes: Array("\(head)rules: [{name: \(rule), when: {}, then: []}]\n".utf8), shared: shared)
        }
        let files = [
            file("a.yaml", "version: 1\n", "a"), file("b.yaml", head, "b"),
            file("c.yaml", head + "time_zone: Europe/Berlin\n", "c"), file("d.yaml", head + "time_zone: UTC\n", "d"),
        ]
        let set = RuleFileSet(files: files, programs: [], attached: shared.attachments.paths)
        #expect(set.scheduled.map(\.names) == [["b", "d"], ["c"]])
        #expect(try set.ruleSet(isForChanges: true).names == ["a"])
        #expect(try set.ruleSet().names == ["a", "b", "c", "d"])
    }
}
