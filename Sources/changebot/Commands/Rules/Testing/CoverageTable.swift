internal import Rules

/// The coverage of rule files as a table: one line for each condition and action.
struct CoverageTable {
    private static let textLimit = 60

    private let coverage: RuleCoverage

    init(_ coverage: RuleCoverage) { self.coverage = coverage }

    func lines(_ style: TerminalStyle) -> [VisibleLine] {
        var lines: [VisibleLine] = []
        for file in coverage.files {
            lines += ["", style.bold(file.path) + VisibleLine("  \(file.share.text)")]
            let width = file.points.map { min($0.text.count, Self.textLimit) }.max() ?? 0
            for point in file.points { lines.append(Self.line(point, width, style)) }
        }
        return lines + ["", VisibleLine("coverage: \(coverage.share.text)")]
    }

    private static func line(_ point: CoveragePoint, _ width: Int, _ style: TerminalStyle) -> VisibleLine {
        let number = String(point.position.line)
        let place = String(repeating: " ", count: max(0, 6 - number.count)) + number
        let text = point.text.shortened(to: textLimit - 1).padded(to: width)
        let start = VisibleLine("\(place)  \(point.kind.rawValue.padded(to: 9))  \(text)  ")
        return start + outcomes(point, style)
    }

    private static func outcomes(_ point: CoveragePoint, _ style: TerminalStyle) -> VisibleLine {
        let counts = point.outcomes.map { outcome in
            outcome.isPossible
                ? "\(outcome.result.rawValue) \(outcome.testCount)" : "\(outcome.result.rawValue) impossible"
        }
        let text = counts.joined(separator: ", ")
        guard let complaint = point.complaint else { return style.green(text) }
        return style.colored(text + "  <- " + complaint, by: point)
    }
}

extension TerminalStyle {
    /// Green if the tests have shown every outcome, red if none, yellow otherwise.
    func colored(_ text: String, by point: CoveragePoint) -> VisibleLine {
        if point.missing.isEmpty { return green(text) }
        return point.outcomes.contains { $0.testCount > 0 } ? yellow(text) : red(text)
    }
}
