/// What is different between two lists of lines.
///
/// The shortest difference, by their longest common subsequence; of texts with very many different lines only what
/// they begin and end with alike is found. At most a million comparisons beside one look at each line.
struct LineDiff {
    enum Line: Equatable {
        case same(String)
        case old(String)
        case new(String)
        /// Same lines, far from any difference, between two that are shown.
        case omitted
    }

    /// Same lines that are shown around a difference.
    static let context = 3
    /// Different lines of both texts together beyond which they are not compared one by one.
    static let comparedLimit = 2000

    /// Nothing if there is no difference.
    let lines: [Line]

    init(_ old: [String], _ new: [String]) {
        let start = zip(old, new).prefix { Self.areEqual($0, $1) }.count
        let end = zip(old[start...].reversed(), new[start...].reversed()).prefix { Self.areEqual($0, $1) }.count
        let middle = Self.compare(old[start..<old.count - end], new[start..<new.count - end])
        guard !middle.isEmpty else {
            lines = []
            return
        }
        let head = old[..<start].suffix(Self.context).map(Line.same)
        let tail = old[(old.count - end)...].prefix(Self.context).map(Line.same)
        lines = head + Self.shortened(middle) + tail
    }

    /// By bytes: strings of Swift are equal if they look alike, documents are not.
    private static func areEqual(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

    /// All lines, in the order in which they are shown: what is gone before what has come.
    private static func compare(_ old: ArraySlice<String>, _ new: ArraySlice<String>) -> [Line] {
        guard !old.isEmpty, !new.isEmpty, old.count + new.count <= comparedLimit else {
            return old.map(Line.old) + new.map(Line.new)
        }
        let common = CommonLines(Array(old), Array(new))
        var lines: [Line] = []
        var (left, right) = (0, 0)
        while left < old.count || right < new.count {
            switch common.step(left, right) {
            case .both:
                lines.append(.same(old[old.startIndex + left]))
                (left, right) = (left + 1, right + 1)
            case .old:
                lines.append(.old(old[old.startIndex + left]))
                left += 1
            case .new:
                lines.append(.new(new[new.startIndex + right]))
                right += 1
            }
        }
        return lines
    }

    /// Begins and ends with a difference; in between, stretches of same lines lose their middle.
    private static func shortened(_ lines: [Line]) -> [Line] {
        var result: [Line] = []
        var same: [Line] = []
        for line in lines {
            if case .same = line {
                same.append(line)
                continue
            }
            // One line is not worth a mark that takes a line itself.
            if same.count > 2 * context + 1 { same.replaceSubrange(context..<same.count - context, with: [.omitted]) }
            result += same
            result.append(line)
            same = []
        }
        return result + same
    }
}

extension LineDiff {
    /// As people see it: `  same`, `- old`, `+ new`, `…`.
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
