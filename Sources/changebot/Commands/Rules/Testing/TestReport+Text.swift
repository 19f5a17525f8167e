internal import Rules

extension TestReport {
    /// For people: each test, then the coverage.
    func lines(_ style: TerminalStyle, isListed: Bool) -> [VisibleLine] {
        var lines = results.flatMap { Self.lines(of: $0, style) }
        lines.append(VisibleLine(summary))
        if let coverage, isListed { lines += CoverageTable(coverage).lines(style) }
        guard let mutants, let mutantSummary else { return lines }
        lines += mutants.survivors.flatMap { [""] + Self.lines(of: $0, style) }
        return lines + ["", VisibleLine(mutantSummary)]
    }

    /// A mutant that no test notices, with the test that is missing.
    static func lines(of mutant: Mutant, _ style: TerminalStyle) -> [VisibleLine] {
        if !mutant.isUntested { return [style.yellow("no effect?  ") + VisibleLine(mutant.message)] }
        var lines = [style.red("NOT NOTICED  ") + VisibleLine(mutant.message)]
        guard let difference = mutant.difference else {
            return lines + [VisibleLine("    # the rule fires in no test; add a test in which it fires")]
        }
        for (index, line) in difference.test.enumerated() {
            lines.append(VisibleLine("    \(index == 0 ? "- " : "  ")\(line)"))
        }
        if difference.isFailure {
            let advice = "    # the rules fail for this document: correct them, or add the test if they should"
            lines.append(style.yellow(advice))
        }
        return lines + [style.dim("    # with the change, \(difference.member) is \(difference.actual)")]
    }

    static func lines(of result: RuleTestResult, _ style: TerminalStyle) -> [VisibleLine] {
        guard !result.hasPassed else { return [style.green("ok    ") + VisibleLine(result.name)] }
        var lines = [style.red("FAIL  ") + VisibleLine("\(result.path):\(result.position.line): \(result.name)")]
        for mismatch in result.mismatches {
            lines.append(VisibleLine("      \(mismatch.title):"))
            lines += LineDiff(mismatch.expected, mismatch.actual).lines(style).map { "        " + $0 }
        }
        return lines
    }
}
