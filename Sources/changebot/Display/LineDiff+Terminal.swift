internal import Rules

extension LineDiff {
    /// The text for people: `  same`, `- old`, `+ new`, `…`.
    func lines(_ style: TerminalStyle) -> [VisibleLine] {
        lines.map { line in
            switch line {
            case .same(let text): VisibleLine("  " + text)
            case .old(let text): style.red("- " + text)
            case .new(let text): style.green("+ " + text)
            case .omitted: style.dim("…")
            }
        }
    }
}
