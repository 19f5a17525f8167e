internal import Rules

/// A rule file with the coverage of each condition and action, as a mark, a colour and a remark.
struct CoverageListing {
    private let file: RuleCoverage.File
    private let text: [Substring]

    /// - Parameter text: The content of the file.
    init(_ file: RuleCoverage.File, _ text: String) {
        self.file = file
        self.text = text.split(omittingEmptySubsequences: false) { ["\n", "\r\n", "\r"].contains($0) }
    }

    func lines(_ style: TerminalStyle) -> [VisibleLine] {
        let points = Dictionary(grouping: file.points) { $0.position.line }
        let width = String(text.count).count
        var lines = [style.bold(file.path) + VisibleLine("  \(file.share.text)")]
        for (index, line) in text.enumerated() {
            if index == text.count - 1, line.isEmpty { break }
            let found = (points[index + 1] ?? []).sorted { $0.position.column < $1.position.column }
            let number = String(index + 1)
            let gutter = String(repeating: " ", count: width - number.count) + number + "  "
            lines.append(Self.mark(found, style) + VisibleLine(gutter) + Self.colored(line, found, style))
        }
        return lines
    }

    private static func mark(_ points: [CoveragePoint], _ style: TerminalStyle) -> VisibleLine {
        if points.isEmpty { return "   " }
        let missing = points.count { !$0.missing.isEmpty }
        if missing == 0 { return style.green(" ✓ ") }
        let isSeen = points.contains { point in point.outcomes.contains { $0.testCount > 0 } }
        return isSeen ? style.yellow(" ~ ") : style.red(" ✗ ")
    }

    /// The line, coloured from each point to the next.
    private static func colored(_ line: Substring, _ points: [CoveragePoint], _ style: TerminalStyle) -> VisibleLine {
        let characters = Array(line.unicodeScalars)
        let columns = points.map { min(max($0.position.column - 1, 0), characters.count) } + [characters.count]
        var result = VisibleLine(Self.text(characters[..<columns[0]]))
        for (point, (start, end)) in zip(points, zip(columns, columns.dropFirst())) where start < end {
            result = result + style.colored(Self.text(characters[start..<end]), by: point)
        }
        let complaints = points.compactMap { point in
            point.complaint.map { points.count == 1 ? $0 : "\(point.position.column): \($0)" }
        }
        if complaints.isEmpty { return result }
        return result + style.dim("  <- \(complaints.joined(separator: ", "))")
    }

    private static func text(_ characters: ArraySlice<Unicode.Scalar>) -> String {
        var text = String.UnicodeScalarView()
        text.append(contentsOf: characters)
        return String(text)
    }
}
