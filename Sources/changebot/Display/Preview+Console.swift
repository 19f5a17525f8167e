internal import Delivery
internal import Rules

extension Preview {
    /// Prints on stdout what would be done: as text on a terminal or if colours are asked for, else as one JSON object
    /// a line.
    static func onConsole(_ style: TerminalStyle) -> Preview {
        guard TerminalStyle.isTerminal(.standardOutput) || style.isColored else {
            return Preview { try Console.write($0.line(withRevision: true)) }
        }
        return Preview { report in
            try Console.write(DocumentDiff(report).lines(style) + [""])
        }
    }
}
