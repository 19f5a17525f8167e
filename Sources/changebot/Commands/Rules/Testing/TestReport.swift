internal import ArgumentParser
internal import Encodings
internal import Rules

/// The result of `rules test`, before it is formatted.
struct TestReport {
    /// The values of `--format`.
    enum Format: String, CaseIterable, ExpressibleByArgument {
        case text, junit, github, json
    }

    let results: [RuleTestResult]
    /// Nil if it was not measured.
    var coverage: RuleCoverage?
    /// The required coverage in tenths of a percent. Nil: any.
    var threshold: Int?
    /// Nil if no mutants were made.
    var mutants: MutantRun?

    var failed: [RuleTestResult] { results.filter { !$0.hasPassed } }

    /// `8 tests, all passed`.
    var summary: String {
        let ending = results.isEmpty ? "" : failed.isEmpty ? ", all passed" : ", \(failed.count) failed"
        return "\(Counted(results.count, "test"))\(ending)"
    }

    /// `120 mutants, 118 noticed, 2 not noticed`. Nil if no mutants were made.
    var mutantSummary: String? {
        guard let mutants else { return nil }
        let count = mutants.survivors.count
        let noticed = mutants.count - count
        let mutantCount = "\(Counted(mutants.count, "mutant"))"
        return count == 0 ? "\(mutantCount), all noticed" : "\(mutantCount), \(noticed) noticed, \(count) not noticed"
    }

    /// Why tests are missing. Nil if every mutant that matters fails a test.
    var untested: String? {
        guard let count = mutants?.untested.count, count > 0 else { return nil }
        return
            "\(count.counted("change")) of the rules \(count == 1 ? "fails" : "fail") no test; add the tests that are "
            + "shown, or add --write to append them to the rule files"
    }

    /// Why tests are still missing after the others were added to the files. Nil if none is.
    func leftAfterWriting(_ mutants: MutantRun) -> String? {
        let count = mutants.untested.count { $0.missingTest == nil }
        guard count > 0 else { return nil }
        return
            "\(count.counted("change")) of the rules still \(count == 1 ? "fails" : "fail") no test: for these, correct the "
            + "rules or add tests yourself, as it is said above"
    }

    /// Why the coverage is too low. Nil if it is not.
    var shortfall: String? {
        guard let coverage, let threshold, coverage.share.permille < threshold else { return nil }
        return
            "coverage is \(coverage.share.text), but --threshold requires \(Self.percent(threshold)); add tests for the "
            + "missing outcomes (--coverage lists them), or lower the threshold"
    }

    /// A number of tenths of a percent, as `90%` or `87.5%`.
    static func percent(_ permille: Int) -> String {
        permille.isMultiple(of: 10) ? "\(permille / 10)%" : "\(permille / 10).\(permille % 10)%"
    }
}

extension RuleCoverage.Share {
    /// `87.5% (7 of 8 outcomes)`.
    var text: String { "\(TestReport.percent(permille)) (\(seen) of \(possible.counted("outcome")))" }
}

extension RuleTestResult {
    /// `FILE:LINE:COLUMN`.
    var place: String { "\(path):\(position.line):\(position.column)" }

    /// The lines that differ, for terminals and files: control characters are escaped.
    var visibleDifferences: [String] { differences.map { VisibleLine($0).text } }
}

extension Mutant {
    /// `FILE:LINE:COLUMN: rule 'NAME': CHANGE`.
    var message: String { "\(path):\(position.line):\(position.column): rule '\(rule)': \(change)" }

    /// What is missing, for reports.
    var explanation: String {
        guard let difference else {
            return "rule '\(rule)': \(change): "
                + (isRuleTested
                    ? "no document was found for which this matters"
                    : "the rule fires in no test; add a test in which it fires")
        }
        return "rule '\(rule)': \(change): no test fails, although \(difference.member) changes from "
            + "\(difference.expected) to \(difference.actual) for \(difference.document)"
    }
}
