import LosslessJSON
import TestKit
import Testing

@testable import JQ

@Suite(.limitedParallelism)
struct JQProgramTests {
    @Test(arguments: [
        (".", #"{"b":1,"a":[2,null]}"#, [#"{"b":1,"a":[2,null]}"#]),
        (".[]", "[3,1,2]", ["3", "1", "2"]),
        ("empty", "1", []),
        ("1, 2 | . * 2", "null", ["2", "4"]),
        ("$now, now", "null", ["1700000000", "1700000000"]),
        ("$now | todate", "null", [#""2023-11-14T22:13:20Z""#]),
        ("$change.seq, $match.n", "null", ["5", #""x""#]),
        ("def double: . * 2; .a | double", #"{"a":2}"#, ["4"]),
        ("# nothing but a comment", "7", ["7"]),
        ("", "7", ["7"]),
        ("def unused: 1;", "7", ["7"]),
        (". # a comment at the end", "7", ["7"]),
        (".", #""a\u0000b""#, [#""a\u0000b""#]),
        ("length", #""a\u0000b""#, ["3"]),
        (".a", #"{"a":1,"a":2}"#, ["2"]),
        ("1 | debug | stderr", "null", ["1"]),
        ("label $out | 1, break $out, 2", "null", ["1"]),
        ("try error(\"x\") catch .", "null", [#""x""#]),
        ("path(..)", #"{"a":1}"#, ["[]", #"["a"]"#]),
        ("$__loc__.line", "null", ["1"]),
        ("now | localtime | mktime", "null", ["1700000000"]),
        ("if $now == 0 then $ENV else 1 end", "null", ["1"]),
    ])
    func resultsEqualThoseOfJQ(program: String, document: String, expected: [String]) async throws {
        #expect(try await outcome(program, document).texts == expected)
    }

    @Test(arguments: [
        ("$ENV.PATH", "environment"), ("$ENV | keys", "environment"), ("env", "environment"),
        ("env.HOME", "environment"), ("input", "no other input"), ("[inputs]", "no other input"),
        ("input_filename", "no input file"), ("halt", "halt"), ("halt_error", "halt"), ("halt_error(1)", "halt"),
        ("\"a\" | modulemeta", "modules"), ("import \"a\" as a; .", "module"), ("include \"a\"; .", "module"),
        ("import \"a\" as a {search: \"/etc\"}; .", "module"),
        ("import \"passwd\" as $a {search: \"/etc\"}; $a", "module"),
    ])
    func programsReadOnlyTheirDocument(program: String, reason: String) async throws {
        let error = try #require(try await outcome(program, #"{"a":1}"#).error)
        #expect(error != .crashed)
        #expect("\(error)".contains(reason), "\(error)")
    }

    @Test
    func programErrorsAreOneLine() async throws {
        #expect(try await outcome("error(\"a\\nb\")").error == .programError("a\nb"))
        #expect(try await outcome("1, error({a: 1})").error == .programError(#"{"a":1}"#))
        #expect(
            try await outcome("error({a: infinite, b: [nan, 1]})").error
                == .programError(#"{"a":infinity,"b":[NaN,1]}"#))
        #expect(try await outcome("error(nan)").error == .programError("NaN"))
        #expect(try await outcome("error(-infinite)").error == .programError("-infinity"))
        #expect(try await outcome("try error({a: nan}) catch error(.)").error == .programError(#"{"a":NaN}"#))
        for program in ["{(infinite): 1}", "{a: infinite} + 1", "[infinite] - {}", "[nan] | implode"] {
            let error = try await outcome(program).error.map { "\($0)" } ?? ""
            #expect(!error.contains("1.79") && !error.contains("null"), "\(error)")
        }
        let error = try await outcome("error(\"a\\nb\" + \"x\" * 1000)").error.map { "\($0)" } ?? ""
        #expect(error.hasPrefix(#"the program fails: a\u{a}bxxx"#))
        #expect(error.unicodeScalars.count <= 300)
    }

    @Test
    func compileErrorsNameTheirPlace() throws {
        let errors = try JQCompiler.check([".a", "1 |\n foo", "1) , (2", "{", "$document", "$ENV", "1\u{0}"])
        #expect(errors[0] == nil)
        #expect(errors[1] == JQCompileError(message: "foo/0 is not defined", line: 2))
        #expect(errors[2]?.line == 1)
        #expect(errors[2]?.message.contains("quoting") == false)
        #expect(errors[3]?.message == "syntax error, unexpected $end")
        #expect(errors[4] == JQCompileError(message: "$document is not defined", line: 1))
        #expect(errors[5] == nil)
        #expect(errors[6] != nil)
    }

    @Test(arguments: [
        ["1) , (2", "."], ["1] , [2", "."], ["1", "2) | (3", "4"], ["(1 | # \\", "2)"], ["1 | # \\", "2"],
        ["1 |", "2"], ["(1", "2)"], [".", "1) # x"], ["\"", "\""],
        ["\"\\(1", "2\""], ["\"\\(1", "2)\""], ["def f: 1", "; f"], ["if . then 1", "else 2 end"],
        ["module {\"a\":1}; 1"], ["1 # \") , [2 + \"x \n + \" # \\(3"],
    ])
    func programsThatCompileOnlyTogetherAreFound(programs: [String]) throws {
        let together = try JQCompiler.compile(programs)
        let alone = try programs.map { try JQCompiler.compile([$0])[0] }
        #expect(together == alone)
        #expect(alone.contains { $0 != nil })
    }

    @Test(arguments: [["", "def f: 1;"], [".a # b", "1 #", "# \\"]])
    func validProgramsCompileTogether(programs: [String]) throws {
        let many = Array(repeating: programs, count: 3).joined() + [".b"]
        #expect(try JQCompiler.compile(Array(many)).allSatisfy { $0 == nil })
    }

    @Test
    func programsThatWereCheckedBeforeHaveTheSameResults() throws {
        let programs = [".a # again", "1 | foo # again", "$x # again", ".b # again"]
        for variables in [["x"], [], ["x"], []] {
            let expected = try JQCompiler.compile(programs, variables)
            #expect(expected.map { $0 == nil } == [true, false, variables == ["x"], true])
            #expect(try JQCompiler.check(programs, variables: variables) == expected)
        }
    }

    @Test
    func badProgramsFailOnlyTheirCalls() async throws {
        let outcomes = await pool(["1", "{"]).run([try call(0), try call(1), try call(2), try call(0)])
        #expect(outcomes[0].texts == ["1"])
        #expect("\(outcomes[1].error.map { "\($0)" } ?? "")".contains("does not compile"))
        #expect(outcomes[2].error == .noSuchProgram(2))
        #expect(outcomes[3].texts == ["1"])
    }

    /// Short programs are compiled as one text.
    @Test(arguments: [
        [
            "def f: 1; f # one", "def f: 2; f, .", "now + $now - $now", "[limit(2; repeat(1))]",
            "label $a | 1, break $a",
        ],
        ["", "1"], ["def f: 1;", "2"], ["1", "$__loc__", "2"], ["{", "1", "1 | foo", "2"],
        [".a", ".a = 2", "error(\"x\")", "$ENV.A", ".[", "try error(\"x\") catch ., 1", "halt"],
        [String(repeating: "1, ", count: 400) + "2", "1", "2"],
    ])
    func programsOfOnePoolAreIndependent(programs: [String]) async throws {
        let many = Array(repeating: programs, count: 7).joined().enumerated().map { "\($1) # \($0)" }
        let document = #"{"a":1}"#
        var alone: [JQOutcome] = []
        for program in programs { alone.append(try await outcome(program, document)) }
        let together = await pool(many).run(try many.indices.reversed().map { try call($0, document) })
        for (index, outcome) in zip(many.indices.reversed(), together) {
            let expected = alone[index % programs.count]
            #expect(outcome.texts == expected.texts, "\(many[index])")
            #expect(outcome.error == expected.error, "\(many[index])")
        }
    }

    @Test
    func programsHaveOnlyTheirOwnLocals() async throws {
        let programs = [
            JQProgram("$a, .", locals: ["a"]), JQProgram(".", locals: []), JQProgram("$b, $a, .", locals: ["a", "b"]),
        ]
        let pool = JQPool(programs: programs)
        let locals = [try JSONText(#"{"a":1}"#), nil, try JSONText(#"{"b":2}"#)]
        let calls = try locals.enumerated().map { index, locals in
            JQCall(
                program: index, document: try JSONText("[7]"), change: Array("{}".utf8), match: Array("{}".utf8),
                now: 0,
                locals: locals)
        }
        #expect(await pool.run(calls).map(\.texts) == [["1", "[7]"], ["[7]"], ["2", "null", "[7]"]])
        let foreign = JQPool(programs: [JQProgram("$a", locals: ["a"]), JQProgram("$a")])
        #expect(await foreign.run([try call(1)])[0].texts == nil)
    }

    @Test
    func tooDeepDocumentsAreRefused() async throws {
        let nested = { String(repeating: "[", count: $0) + String(repeating: "]", count: $0) }
        #expect(try await outcome("1", nested(256)).texts == ["1"])
        #expect(try await outcome("1", nested(257)).error == .tooDeep)
        #expect(try await outcome("reduce range(400) as $i (0; [.])").error == .unwritableOutput)
    }
}
