internal import Rules

extension TestReport {
    /// JUnit XML as GitLab and Jenkins read it: one suite for each file, and one for the threshold.
    var jUnitLines: [String] {
        var suites: [(name: String, results: [RuleTestResult])] = []
        for result in results {
            if suites.last?.name != result.path { suites.append((result.path, [])) }
            suites[suites.count - 1].results.append(result)
        }
        for file in coverage?.files ?? [] where !suites.contains(where: { $0.name == file.path }) {
            suites.append((file.path, []))
        }
        let survivors = mutants?.survivors ?? []
        let failures = failed.count + (shortfall == nil ? 0 : 1) + (mutants?.untested.count ?? 0)
        let count = results.count + (hasThreshold ? 1 : 0) + (mutants == nil ? 0 : max(1, survivors.count))
        var lines = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#,
            #"<testsuites name="changebot rules test" tests="\#(count)" failures="\#(failures)" errors="0">"#,
        ]
        for (name, results) in suites { lines += suite(name, results) }
        return lines + thresholdSuite + mutantSuite + ["</testsuites>"]
    }

    private var hasThreshold: Bool { coverage != nil && threshold != nil }

    private func suite(_ path: String, _ results: [RuleTestResult]) -> [String] {
        let name = XMLText.attribute(path)
        let failures = results.count { !$0.hasPassed }
        var lines = [
            #"  <testsuite name="\#(name)" file="\#(name)" tests="\#(results.count)" failures="\#(failures)" errors="0" skipped="0">"#
        ]
        if let file = coverage?.files.first(where: { $0.path == path }) {
            let percent = Self.percent(file.share.permille).dropLast()
            lines.append(#"    <properties><property name="coverage" value="\#(percent)"/></properties>"#)
        }
        return lines + results.flatMap(Self.testCase) + ["  </testsuite>"]
    }

    private static func testCase(_ result: RuleTestResult) -> [String] {
        let path = XMLText.attribute(result.path)
        let start =
            #"    <testcase classname="\#(path)" name="\#(XMLText.attribute(result.name))" file="\#(path)" line="\#(result.position.line)""#
        guard !result.hasPassed else { return [start + "/>"] }
        let message = XMLText.attribute("\(result.place): \(result.reason)")
        return [
            start + ">",
            #"      <failure message="\#(message)" type="mismatch">"#
                + XMLText.content(([result.place] + result.visibleDifferences).joined(separator: "\n")) + "</failure>",
            "    </testcase>",
        ]
    }

    /// Each mutant that no test notices is a test: failed if a test is missing, skipped if it has no known effect.
    private var mutantSuite: [String] {
        guard let mutants, let mutantSummary else { return [] }
        let (survivors, untested) = (mutants.survivors, mutants.untested)
        let start =
            #"  <testsuite name="mutants" tests="\#(max(1, survivors.count))" failures="\#(untested.count)" errors="0" skipped="\#(survivors.count - untested.count)">"#
        guard !survivors.isEmpty else {
            let name = XMLText.attribute(mutantSummary)
            return [start, #"    <testcase classname="mutants" name="\#(name)"/>"#, "  </testsuite>"]
        }
        return [start] + survivors.flatMap(Self.testCase) + ["  </testsuite>"]
    }

    private static func testCase(_ mutant: Mutant) -> [String] {
        let name = XMLText.attribute("\(mutant.rule): \(mutant.change)")
        let path = XMLText.attribute(mutant.path)
        let message = XMLText.attribute(mutant.explanation)
        let content = XMLText.content(([mutant.message] + (mutant.difference?.test ?? [])).joined(separator: "\n"))
        return [
            #"    <testcase classname="mutants" name="\#(name)" file="\#(path)" line="\#(mutant.position.line)">"#,
            mutant.isUntested
                ? #"      <failure message="\#(message)" type="mutant">\#(content)</failure>"#
                : #"      <skipped message="\#(message)"/>"#,
            "    </testcase>",
        ]
    }

    private var thresholdSuite: [String] {
        guard let threshold, let coverage else { return [] }
        let name = XMLText.attribute("coverage is at least \(Self.percent(threshold))")
        var lines = [
            #"  <testsuite name="coverage" tests="1" failures="\#(shortfall == nil ? 0 : 1)" errors="0" skipped="0">"#
        ]
        if let shortfall {
            let missing = coverage.missing.map { "\($0.place): \($0.message)" }
            lines += [
                #"    <testcase classname="coverage" name="\#(name)">"#,
                #"      <failure message="\#(XMLText.attribute(shortfall))" type="coverage">"#
                    + XMLText.content(missing.joined(separator: "\n")) + "</failure>",
                "    </testcase>",
            ]
        } else {
            lines.append(#"    <testcase classname="coverage" name="\#(name)"/>"#)
        }
        return lines + ["  </testsuite>"]
    }
}

extension RuleCoverage {
    /// The points with outcomes that no test has shown: `FILE:LINE:COLUMN`, and what is missing.
    var missing: [(place: String, message: String)] {
        files.flatMap { file in
            file.points.compactMap { point in
                point.complaint.map { complaint in
                    (
                        "\(file.path):\(point.position.line):\(point.position.column)",
                        "\(point.kind.rawValue): \(point.text): \(complaint)"
                    )
                }
            }
        }
    }
}

/// Text in XML. Characters that XML can't contain are written as JSON escapes.
enum XMLText {
    static func content(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0).visible }
            .joined(separator: "\n").replacing("&", with: "&amp;").replacing("<", with: "&lt;")
            .replacing(">", with: "&gt;")
    }

    static func attribute(_ text: String) -> String { content(text.visible).replacing("\"", with: "&quot;") }
}
