internal import Rules

extension TerminalStyle {
    /// A line of an explanation, coloured by its result.
    func marked(_ line: ExplanationLine) -> VisibleLine {
        switch line.result {
        case .holds: green(line.text)
        case .fails: red(line.text)
        case .noAnswer: yellow(line.text)
        case nil: VisibleLine(line.text)
        }
    }
}
