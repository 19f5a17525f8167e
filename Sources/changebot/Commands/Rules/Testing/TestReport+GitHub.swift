internal import Rules

extension TestReport {
    /// Workflow commands for GitHub Actions, which shows them at the lines of the files.
    ///
    /// - Note: Source: GitHub Actions, "Workflow commands"; `@actions/core` escapes in the same way.
    var gitHubLines: [String] {
        var lines = failed.map { result in
            Self.command(
                "error", result.path, result.position, title: "rules test: \(result.name)",
                ([result.reason] + result.visibleDifferences).joined(separator: "\n"))
        }
        for file in coverage?.files ?? [] {
            for point in file.points {
                guard let complaint = point.complaint else { continue }
                lines.append(
                    Self.command(
                        "warning", file.path, point.position, title: "coverage",
                        "\(point.kind.rawValue): \(point.text): \(complaint)"))
            }
        }
        for mutant in mutants?.survivors ?? [] {
            lines.append(
                Self.command(
                    mutant.isUntested ? "error" : "notice", mutant.path, mutant.position, title: "mutant",
                    mutant.explanation))
        }
        if let shortfall { lines.append("::error title=coverage::\(Self.escaped(shortfall))") }
        return lines
    }

    private static func command(
        _ name: String, _ path: String, _ position: SourcePosition, title: String, _ message: String
    ) -> String {
        "::\(name) file=\(property(path)),line=\(position.line),col=\(position.column),title=\(property(title))"
            + "::\(escaped(message))"
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }

    private static func property(_ text: String) -> String {
        escaped(text).replacing(":", with: "%3A").replacing(",", with: "%2C")
    }
}
