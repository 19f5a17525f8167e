internal import Pipeline
internal import Rules

extension Preview {
    /// What would be done, on stdout: for people on a terminal, or if colours are asked for, else one JSON object a line.
    static func onConsole(_ style: TerminalStyle) -> Preview {
        guard TerminalStyle.isTerminal(.standardOutput) || style.isColored else {
            return Preview { try Console.write($0.line(withRevision: true)) }
        }
        return Preview { report in
            try Console.write(DocumentDiff(report).lines(style) + [""])
        }
    }
}
