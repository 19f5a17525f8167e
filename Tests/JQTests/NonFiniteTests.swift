import JQ
import LosslessJSON
import Testing

@Suite
struct NonFiniteTests {
    @Test(
        arguments: [
            ("nan", "NaN"), ("infinite", "infinity"), ("-infinite", "-infinity"), ("[1, [nan]]", "NaN at [1][0]"),
            ("{a: {\"b c\": infinite}}", "infinity at .a[\"b c\"]"), ("1, {w: (0 | log)}", "-infinity at .w"),
            ("1e308 * 10", "infinity"), ("{v: (-1 | sqrt)} | .v", "NaN"),
        ], ["{}", #"{"big":12345678901234567890}"#])
    func nonFiniteOutputIsAnError(program: (text: String, what: String), document: String) async throws {
        let error = try #require(try await outcome(program.text, document).error)
        #expect(error == .notFinite(program.what))
        #expect("\(error)".hasPrefix("the program gives \(program.what), which JSON can't represent"))
    }

    @Test(arguments: [
        "nan | tostring", "[infinite] | tojson", "\"v: \\(nan)\"", "nan | @text", "{a: [nan]} | @json",
        "[nan] | @csv", "[infinite] | @tsv", "nan | @html", "\"\\([nan])\"", "@base64 \"\\(infinite)\"",
        "nan | @uri", "[nan] | @sh", "[1, nan] | join(\",\")", "{(nan | tostring): 1}", "INDEX([1]; nan)",
        "[1] | INDEX(infinite)", "map_values(. * 1e308 * 10 | tostring)",
    ])
    func nonFiniteNumberAsTextIsAnError(program: String) async throws {
        let error = try #require(try await outcome(program, #"{"a":1}"#).error)
        #expect("\(error)".contains("can't be written as JSON"), "\(error)")
    }

    @Test(arguments: [
        (".v | tonumber", "nan"), (".v | tonumber", "NaN"), (".v | tonumber", "1e999"), (".v | tonumber", "-1e400"),
        (".v | tonumber < 5", "nan"), (".v | fromjson", "[nan]"), (".v | fromjson | .a", "{\"a\":1e999}"),
    ])
    func readingANonFiniteNumberIsAnError(program: String, text: String) async throws {
        let escaped = text.replacing("\"", with: "\\\"")
        let error = try #require(try await outcome(program, "{\"v\":\"\(escaped)\",\"w\":5}").error)
        guard case .programError = error else {
            Issue.record("\(error)")
            return
        }
    }

    @Test(arguments: [
        ("[3, 1] | reduce .[] as $x (infinite; if $x < . then $x else . end)", "1"),
        ("nan | if isnan then 0 else . end", "0"), ("\"12.5\" | tonumber", "12.5"), ("5 | tonumber", "5"),
        ("[1, null, true, \"x\"] | join(\"-\")", "\"1--true-x\""), ("\"\\(1)\\([2])\\(\"x\")\"", "\"1[2]x\""),
        ("[\"a b\", 1] | @csv", "\"\\\"a b\\\",1\""), ("null | tostring", "\"null\""),
        ("\"x\" | tojson", "\"\\\"x\\\"\""),
        ("\"[1,{}]\" | fromjson", "[1,{}]"), ("[{id: 1}] | INDEX(.id)", "{\"1\":{\"id\":1}}"),
        ("try (nan | tostring) catch \"none\"", "\"none\""),
    ])
    func nonFiniteIntermediateResultsAreAllowed(program: String, result: String) async throws {
        #expect(try await outcome(program).texts == [result])
    }

    @Test(arguments: ["nan % -1", "1e19 % -1", "[1, 2] | .[nan:]"])
    func abortOfJQIsNotReportedAsLackOfMemory(program: String) async throws {
        let pool = pool([program, ".+1"])
        let outcomes = await pool.run([try call(0), try call(1, "1")])
        #expect(outcomes[0].error == .aborted || outcomes[0].texts != nil)
        #expect(outcomes[0].error.map { "\($0)".contains("memory") } != true)
        #expect(outcomes[1].texts == ["2"])
    }
}
