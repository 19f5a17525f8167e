internal import Pipeline
internal import Rules

extension Preview {
    /// What would be done, on stdout: for people on a terminal, else one JSON object a line.
    static func onConsole(_ color: TerminalStyle.Choice?, _ environment: Environment) -> Preview {
        let style = TerminalStyle(color, environment: environment, stream: .standardOutput)
        guard TerminalStyle.isTerminal(.standardOutput) || style.isColored else {
            return Preview { Console.print($0.line(withRevision: true)) }
        }
        return Preview { report in
            Console.print(DocumentDiff(report).lines(style).joined(separator: "\n") + "\n")
        }
    }
}
