internal import Delivery
internal import Rules

extension Preview {
    /// Prints on stdout what would be done: as text on a terminal or with `--color always`, otherwise as one JSON
    /// object per line.
    static func onConsole(_ style: TerminalStyle) -> Preview {
        guard TerminalStyle.isTerminal(.standardOutput) || style.isColored else {
            return Preview { try Console.write($0.line(withRevision: true)) }
        }
        return Preview { report in
            try Console.write(DocumentDiff(report).lines(style) + [""])
        }
    }
}
