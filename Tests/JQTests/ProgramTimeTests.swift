import JQ
import LosslessJSON
import Testing

@Suite
struct ProgramTimeTests {
    @Test(arguments: [
        ("2026-11-20T08:15:21.407Z", "1795162521.407"), ("2026-11-20T08:15:21Z", "1795162521"),
        ("2026-11-20T09:15:21+01:00", "1795162521"), ("2026-11-20T03:45:21.5-0430", "1795162521.5"),
        ("2026-11-20T09:15+01", "1795162500"), ("20261120T081521Z", "1795162521"), ("2026-11-20", "1795132800"),
        ("2026-324T08:15:21Z", "1795162521"), ("2026-W47-5T08:15:21Z", "1795162521"),
        ("2026-11-20 08:15:21z", "1795162521"), ("2026-11-19T24:00:00Z", "1795132800"),
        ("2026-11-20T08:15.5Z", "1795162530"), ("2026-11-20T08.5Z", "1795163400"),
        ("2016-12-31T23:59:60Z", "1483228800"),
    ])
    func everyISO8601FormIsRead(text: String, seconds: String) async throws {
        #expect(
            try await outcome("fromdate, fromdateiso8601, parse_time", "\"\(text)\"").texts == [
                seconds, seconds, seconds,
            ])
    }

    @Test(arguments: [
        ("\"2026-11-20T08:15:21.407Z\" | fromdate | todate", "\"2026-11-20T08:15:21Z\""),
        ("\"2026-11-20T09:15:21+01:00\" | fromdate | todate", "\"2026-11-20T08:15:21Z\""),
        ("1795162521 | todate", "\"2026-11-20T08:15:21Z\""), ("-0.5 | todate", "\"1969-12-31T23:59:59Z\""),
        ("1795162521 | gmtime | todate", "\"2026-11-20T08:15:21Z\""), ("1795162521 | parse_time", "1795162521"),
        ("\"2026-01-31\" | add_months(1)", "\"2026-02-28\""), ("\"2024-02-29\" | add_years(1)", "\"2025-02-28\""),
        ("\"2026-11-20T08:15:21.407+01:00\" | add_days(-20)", "\"2026-10-31T08:15:21.407+01:00\""),
        ("\"2026-W47-5\" | add_days(1)", "\"2026-W47-6\""),
        ("\"20261120T081521Z\" | add_days(1)", "\"20261121T081521Z\""),
        ("\"2026-11-20T08:15Z\" | add_days(1)", "\"2026-11-21T08:15Z\""),
        ("1795162521.5 | add_days(1)", "1795248921.5"),
        ("1795162521 | add_months(-11) | todate", "\"2025-12-20T08:15:21Z\""),
        ("1795162521 | gmtime | .[1] += 2 | mktime | todate", "\"2027-01-20T08:15:21Z\""),
        ("1795162521 | strftime(\"%d.%m.%Y\")", "\"20.11.2026\""),
        ("\"20 Nov 2026 08:15\" | strptime(\"%d %b %Y %H:%M\") | mktime", "1795162500"),
        ("\"20 Nov 2026 08:15\" | strptime(\"%d %b %Y %H:%M\")", "[2026,10,20,8,15,0,5,323]"),
        ("\"2026 324\" | strptime(\"%Y %j\") | mktime", "1795132800"),
        // A text may contain only a part of a date.
        ("\"2026-11\" | strptime(\"%Y-%m\") | strftime(\"%m/%Y\")", "\"11/2026\""),
        ("\"10:30\" | strptime(\"%H:%M\") | strftime(\"%H.%M\")", "\"10.30\""),
        ("\"29 Feb\" | strptime(\"%d %b\") | strftime(\"%m-%d\")", "\"02-29\""),
    ])
    func timesAreConvertedAndMoved(program: String, result: String) async throws {
        #expect(try await outcome(program).texts == [result])
    }

    @Test(arguments: [
        ("2026-11-20T08:15:21+0200", "%Y-%m-%dT%H:%M:%S%z", "2026-11-20T06:15:21Z"),
        ("2026-11-20T23:15:21-01:30", "%Y-%m-%dT%H:%M:%S%z", "2026-11-21T00:45:21Z"),
        ("2027-01-01T00:15:00+01:00", "%Y-%m-%dT%H:%M:%S%z", "2026-12-31T23:15:00Z"),
        ("Fri, 20 Nov 2026 08:15:21 GMT", "%a, %d %b %Y %H:%M:%S %Z", "2026-11-20T08:15:21Z"),
    ])
    func timesKeepTheirZone(text: String, format: String, expected: String) async throws {
        let program = "strptime(\"\(format)\") | mktime | todate"
        #expect(try await outcome(program, "\"\(text)\"").texts == ["\"\(expected)\""])
        #expect(try await outcome("strptime(\"\(format)\") | todate", "\"\(text)\"").texts == ["\"\(expected)\""])
    }

    @Test(arguments: [
        ("\"2026-02-30T00:00:00Z\" | fromdate", "names a day that does not exist"),
        ("\"2026-02-30\" | strptime(\"%Y-%m-%d\") | mktime", "names a day that does not exist"),
        ("\"2026-11-20T08:15:21\" | fromdate", "append Z if it is UTC"), ("\"soon\" | parse_time", "is not a time"),
        ("\"1795162521\" | parse_time", "convert it with tonumber"),
        ("null | fromdate", "fromdate needs a string"), ("5 | fromdate", "fromdate needs a string"),
        ("\"Fri 20 Nov 2026 CET\" | strptime(\"%a %d %b %Y %Z\")", "read it with %z"),
        ("\"x\" | strptime(\"%Y\")", "does not match format"), ("1e17 | todate", "divide milliseconds by 1000"),
        ("1e17 | todateiso8601", "divide milliseconds by 1000"),
        ("-1e17 | todate", "divide milliseconds by 1000"), ("1e300 | gmtime | mktime", "gmtime got"),
        ("1795162521000 | todate", "divide milliseconds by 1000"), ("nan | todate", "todate got NaN"),
        ("1e17 | gmtime", "gmtime got"), ("1e17 | strftime(\"%Y\")", "strftime got"),
        ("infinite | localtime", "localtime got infinity"), ("1e30 | strflocaltime(\"%Y\")", "strflocaltime got"),
        ("[1e17, 0, 1, 0, 0, 0, 0, 0] | mktime", "the year is 1"),
        ("[2026, nan, 1, 0, 0, 0, 0, 0] | mktime", "is NaN"),
        ("[2026, 12, 1, 0, 0, 0, 0, 0] | todate", "the month, counted from 0, is 12"),
        ("\"2026-11-20\" | add_days(0.5)", "needs a whole number"),
        ("\"9999-12-31\" | add_days(1)", "years 0 to 9999"),
        ("\"2026-11-20\" | add_months(1e300)", "needs a whole number"),
        ("\"a\" | todate", "needs a number of seconds"),
    ])
    func invalidTimesAreErrorsWithAReason(program: String, reason: String) async throws {
        let error = try #require(try await outcome(program).error)
        #expect("\(error)".contains(reason), "\(error)")
    }

    @Test
    func programsWithTimeFunctionsCompile() throws {
        let errors = try JQCompiler.check([
            ".a | parse_time", "add_days(1) | add_months(1) | add_years(1)", ".a | parse_time |\n foo",
            "add_days(1) ) , (2",
            "def parse_time: 1; parse_time", "add_days",
        ])
        #expect(errors[0] == nil && errors[1] == nil && errors[4] == nil)
        #expect(errors[2] == JQCompileError(message: "foo/0 is not defined", line: 2))
        #expect(errors[3]?.message.contains("syntax error") == true)
        #expect(errors[5] == JQCompileError(message: "add_days/0 is not defined", line: 1))
    }

    @Test(arguments: ["_input", "[\"todate\", 1] | debug | _input"])
    func programsCannotSendOtherRequests(program: String) async throws {
        #expect(try await outcome(program).texts == nil)
    }
}
