internal import Rules

extension TestReport {
    /// For people: each test, then the coverage.
    func lines(_ style: TerminalStyle, isListed: Bool) -> [VisibleLine] {
        var lines = results.flatMap { Self.lines(of: $0, style) }
        lines.append(VisibleLine(summary))
        guard let coverage, isListed else { return lines }
        return lines + CoverageTable(coverage).lines(style)
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
