import Foundation
import TestKit
import Testing

@testable import changebot

/// The reports of `rules test`.
@Suite(.limitedParallelism) struct RuleTestReportTests {
    private static let rules = """
        version: 1
        rules:
          - name: tidy
            when: { type: task, task: { $regex: "^ " } }
            unless: { keep: true }
            then: [merge: { task: tea }]
        tests:
          - name: 'a, b: 100% <"&">'
            given: { type: task, task: " tea" }
            expect: { fired: [tidy] }

        """
    private static let failing = rules.replacing("fired: [tidy]", with: "fired: []")

    private func withFile(_ text: String = rules, _ body: (_ file: String) async throws -> Void) async throws {
        try await Program.withDirectory { folder in
            try Data(text.utf8).write(to: URL(fileURLWithPath: folder + "/r.yaml"))
            try await body(folder + "/r.yaml")
        }
    }

    @Test func coverageIsATable() async throws {
        try await withFile { file in
            let result = try await Program.run(["rules", "test", file, "--coverage"])
            #expect(result.code == 0 && result.errors == "")
            #expect(
                result.output == """
                    ok    a, b: 100% <"&">
                    1 test, all passed

                    \(file)  62.5% (5 of 8 outcomes)
                         3  rule       tidy                    fires 1
                         4  when       type: { $eq: "task" }   true 1, false 0  <- never false
                         4  when       task: { $regex: "^ " }  true 1, false 0  <- never false
                         5  unless     keep: { $eq: true }     true 0, false 1  <- never true
                         6  then       merge                   runs 1

                    coverage: 62.5% (5 of 8 outcomes)

                    """)
        }
    }

    @Test func linesAreAnnotated() async throws {
        try await withFile { file in
            let result = try await Program.run(["rules", "test", file, "--annotate"])
            let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.contains("    1  version: 1"), "\(result.output)")
            #expect(lines.contains(" ✓  6      then: [merge: { task: tea }]"), "\(result.output)")
            #expect(
                lines.contains(
                    #" ~  4      when: { type: task, task: { $regex: "^ " } }  <- 13: never false, 33: never false"#),
                "\(result.output)")
            let colored = try await Program.run(["rules", "test", file, "--annotate", "--color", "always"])
            #expect(
                colored.output.contains("\u{1B}[33mtype: task, task: { \u{1B}[0m\u{1B}[33m$regex"), "\(colored.output)")
            let mixed = try await Program.run(["rules", "test", file, "--annotate", "--format", "json"])
            #expect(mixed.code == 64 && mixed.errors.contains("--annotate is for people"))
        }
    }

    @Test(arguments: [("62%", 0), ("62.5", 0), ("62.6%", 1), ("100%", 1)] as [(String, Int32)])
    func lowCoverageFails(threshold: String, code: Int32) async throws {
        try await withFile { file in
            let result = try await Program.run(["rules", "test", file, "--threshold", threshold])
            #expect(result.code == code)
            let text = "coverage is 62.5% (5 of 8 outcomes), but --threshold requires"
            #expect(result.errors.contains(text) == (code == 1), "\(result.errors)")
            let quiet = try await Program.run(["rules", "test", file, "--quiet", "--threshold", threshold])
            #expect(quiet.code == code && quiet.output == "" && quiet.errors == result.errors)
        }
    }

    @Test(arguments: ["101%", "-1", "90.55%", "%", "ninety"])
    func invalidThresholdIsRefused(threshold: String) async throws {
        let result = try await Program.run(["rules", "test", "r.yaml", "--threshold=\(threshold)"])
        #expect(result.code == 64 && result.errors.contains("write a percentage from 0% to 100%"), "\(result.errors)")
        try await withFile { file in
            let variable = try await Program.run(
                ["rules", "test", file], environment: ["CHANGEBOT_THRESHOLD": threshold])
            #expect(variable.code == 64 && variable.errors.contains("CHANGEBOT_THRESHOLD='\(threshold)' is not valid"))
        }
    }

    @Test func jUnitHasASuiteForEachFileAndOneForTheThreshold() async throws {
        try await withFile(Self.failing) { file in
            let result = try await Program.run(["rules", "test", file, "--format", "junit", "--threshold", "90%"])
            #expect(result.code == 1)
            #expect(
                result.output == """
                    <?xml version="1.0" encoding="UTF-8"?>
                    <testsuites name="changebot rules test" tests="2" failures="2" errors="0">
                      <testsuite name="\(file)" file="\(file)" tests="1" failures="1" errors="0" skipped="0">
                        <properties><property name="coverage" value="62.5"/></properties>
                        <testcase classname="\(file)" name="a, b: 100% &lt;&quot;&amp;&quot;&gt;" file="\(file)" line="8">
                          <failure message="\(file):8:5: fired differs from what the test expects" type="mismatch">\(file):8:5
                    fired:
                      + tidy</failure>
                        </testcase>
                      </testsuite>
                      <testsuite name="coverage" tests="1" failures="1" errors="0" skipped="0">
                        <testcase classname="coverage" name="coverage is at least 90%">
                          <failure message="coverage is 62.5% (5 of 8 outcomes), but --threshold requires 90%; add tests for \
                    the missing outcomes (--coverage lists them), or lower the threshold" type="coverage">\
                    \(file):4:13: when: type: { $eq: "task" }: never false
                    \(file):4:33: when: task: { $regex: "^ " }: never false
                    \(file):5:15: unless: keep: { $eq: true }: never true</failure>
                        </testcase>
                      </testsuite>
                    </testsuites>

                    """)
        }
    }

    @Test func workflowCommandsAreEscaped() async throws {
        try await withFile(Self.failing) { file in
            let result = try await Program.run(["rules", "test", file, "--format", "github", "--coverage"])
            #expect(result.code == 1)
            let lines = result.output.split(separator: "\n").map(String.init)
            #expect(
                lines.first == "::error file=\(file),line=8,col=5,title=rules test%3A a%2C b%3A 100%25 <\"&\">"
                    + "::fired differs from what the test expects%0Afired:%0A  + tidy", "\(lines)")
            #expect(
                lines.contains(
                    "::warning file=\(file),line=5,col=15,title=coverage::unless: keep: { $eq: true }: never true"))
            #expect(lines.last == "1 test, 1 failed")
        }
    }

    @Test func jsonHasAllResults() async throws {
        try await withFile(Self.failing) { file in
            let result = try await Program.run(["rules", "test", file, "--format", "json", "--coverage", "--quiet"])
            #expect(result.code == 1 && result.errors == "")
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(result.output.utf8)) as? [String: Any])
            #expect(object["failed"] as? Int == 1 && object["passed"] as? Int == 0)
            let tests = try #require(object["tests"] as? [[String: Any]])
            #expect(tests[0]["line"] as? Int == 8 && tests[0]["file"] as? String == file)
            let coverage = try #require(object["coverage"] as? [String: Any])
            #expect(coverage["percent"] as? Double == 62.5)
            let files = try #require(coverage["files"] as? [[String: Any]])
            let points = try #require(files[0]["points"] as? [[String: Any]])
            #expect(points.map { $0["key"] as? String } == ["rule", "when", "when", "unless", "then"])
            #expect(points[1]["column"] as? Int == 13 && points[1]["rule"] as? String == "tidy")
        }
    }

    @Test func mutantsAreListedWithTheMissingTests() async throws {
        try await withFile { file in
            let result = try await Program.run(["rules", "test", file, "--mutants"])
            #expect(result.code == 1)
            #expect(
                result.output.contains(
                    """
                    NOT NOTICED  \(file):5:15: rule 'tidy': without `keep: { $eq: true }`
                        - name: "tidy does not fire if keep: { $eq: true }"
                          given: { type: task, task: " tea", keep: true }
                          expect: { fired: [] }
                        # with the change, fired is [tidy]

                    """), "\(result.output)")
            #expect(result.output.hasSuffix("\n9 mutants, 2 noticed, 7 not noticed\n"), "\(result.output)")
            #expect(result.errors.contains("7 changes of the rules fail no test; add the tests that are shown"))
            let quiet = try await Program.run(["rules", "test", file, "--mutants", "--quiet"])
            #expect(quiet.code == 1 && quiet.output == "" && quiet.errors.hasPrefix("NOT NOTICED  \(file):4:13: rule"))
        }
    }

    @Test func missingTestsAreWritten() async throws {
        try await withFile { file in
            let result = try await Program.run(["rules", "test", file, "--mutants", "--write"])
            #expect(result.code == 0 && result.errors == "\(file): added 5 tests\n", "\(result.errors)")
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(text.hasPrefix(Self.rules) && text.contains("  - name: \"tidy does not fire if keep"), "\(text)")
            let again = try await Program.run(["rules", "test", file, "--mutants", "--quiet"])
            #expect(again.code == 0 && again.output == "" && again.errors == "", "\(again.errors)")
        }
    }

    @Test func mutantsNeedPassingTests() async throws {
        try await withFile(Self.failing) { file in
            let result = try await Program.run(["rules", "test", file, "--mutants", "--write"])
            #expect(result.code == 1 && result.errors.contains("no mutants were made, because tests fail"))
            #expect(try String(contentsOfFile: file, encoding: .utf8) == Self.failing)
        }
        let alone = try await Program.run(["rules", "test", "r.yaml", "--write"])
        #expect(alone.code == 64 && alone.errors.contains("--write adds the tests that --mutants finds; add --mutants"))
    }

    @Test func fileThatCannotTakeTestsIsNamed() async throws {
        let text = "version: 1\nrules:\n  - { name: a, when: { a: 1 }, then: [] }\ntests: []\n"
        try await withFile(text) { file in
            let result = try await Program.run(["rules", "test", file, "--mutants", "--write"])
            #expect(
                result.code == 65 && result.errors.hasPrefix("\(file):4:8: 'tests' must be a list"), "\(result.errors)")
            #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        }
    }

    @Test func mutantsAreReportedToCI() async throws {
        try await withFile { file in
            let github = try await Program.run(["rules", "test", file, "--mutants", "--format", "github"])
            #expect(
                github.output.contains(
                    "::error file=\(file),line=5,col=15,title=mutant::rule 'tidy': without `keep: { $eq: true }`: no test "
                        + "fails, although fired changes from [] to [tidy] for { type: task, task: \" tea\", keep: true }\n"
                ),
                "\(github.output)")
            let junit = try await Program.run(["rules", "test", file, "--mutants", "--format", "junit"])
            #expect(junit.output.contains(#"<testsuite name="mutants" tests="7" failures="7" errors="0" skipped="0">"#))
            let json = try await Program.run(["rules", "test", file, "--mutants", "--format", "json"])
            let object = try #require(try JSONSerialization.jsonObject(with: Data(json.output.utf8)) as? [String: Any])
            let mutants = try #require(object["mutants"] as? [String: Any])
            #expect(mutants["count"] as? Int == 9 && (mutants["survivors"] as? [[String: Any]])?.count == 7)
        }
    }

    @Test func unknownFormatIsRefused() async throws {
        let result = try await Program.run(["rules", "test", "r.yaml", "--format", "xml"])
        #expect(result.code == 64 && result.errors.contains("'text', 'junit', 'github' or 'json'"), "\(result.errors)")
    }

    @Test func charactersThatXMLCannotContainAreEscaped() {
        #expect(XMLText.attribute("a\u{1}\n\"<&>") == #"a\u0001\u000a&quot;&lt;&amp;&gt;"#)
        #expect(XMLText.content("a\n\u{1B}b") == "a\n\\u001bb")
    }
}
