/// The differences between two lists of lines.
///
/// The shortest difference, by the longest common subsequence. If more than ``comparedLimit`` lines differ, only the
/// common beginning and end are found. At most a million pairs of lines are compared.
package struct LineDiff: Sendable {
    package enum Line: Equatable, Sendable {
        case same(String)
        case old(String)
        case new(String)
        /// Equal lines between two differences that are too far from either to be shown.
        case omitted
    }

    /// How many equal lines are shown before and after a difference.
    package static let context = 3
    /// The maximum number of lines, in both texts together, that are compared line by line. Longer
    /// texts are first divided at lines that occur once in each.
    package static let comparedLimit = 2000

    /// Empty if the texts are equal.
    package let lines: [Line]

    /// Lines before a difference that are indented less are shown too: the openings of the objects that a member is in.
    package init(_ old: [String], _ new: [String]) {
        let start = zip(old, new).prefix { Self.areEqual($0, $1) }.count
        let end = zip(old[start...].reversed(), new[start...].reversed()).prefix { Self.areEqual($0, $1) }.count
        let middle = Self.compare(old[start..<old.count - end], new[start..<new.count - end])
        guard !middle.isEmpty else {
            lines = []
            return
        }
        let head = Self.head(old[..<start], before: middle[0])
        let tail = old[(old.count - end)...].prefix(Self.context).map(Line.same)
        lines = head + Self.shortened(middle) + tail
    }

    /// The equal lines before the first difference.
    private static func head(_ common: ArraySlice<String>, before first: Line) -> [Line] {
        let near = common.suffix(context).map(Line.same)
        return enclosing(common.dropLast(context).map(Line.same), near + [first], leadsIn: true) + near
    }

    /// Those of some equal lines that enclose the last of the lines that follow, and `…` in place of others.
    ///
    /// - Parameters:
    ///   - next: The lines up to the difference, all of which are shown.
    ///   - leadsIn: Whether nothing is shown in place of lines none of which encloses the difference.
    private static func enclosing(_ lines: [Line], _ next: [Line], leadsIn: Bool) -> [Line] {
        var limit = next.map(\.indentation).min() ?? 0
        // From the last line to the first one.
        var found: [Line] = []
        var skippedCount = 0
        for (index, line) in lines.enumerated().reversed() {
            if line.indentation >= limit {
                skippedCount += 1
                continue
            }
            found += gap(lines[(index + 1)..<(index + 1 + skippedCount)]) + [line]
            (limit, skippedCount) = (line.indentation, 0)
        }
        if !leadsIn || !found.isEmpty { found += gap(lines.prefix(skippedCount)) }
        return found.reversed()
    }

    /// What is shown of equal lines: `…` takes a line itself, so it never replaces a single one.
    private static func gap(_ lines: ArraySlice<Line>) -> [Line] { lines.count > 1 ? [.omitted] : Array(lines) }

    /// Compares bytes, because Swift's `==` treats canonically equivalent strings as equal.
    private static func areEqual(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

    /// All lines in the order in which they are shown: removed lines before added ones.
    private static func compare(_ old: ArraySlice<String>, _ new: ArraySlice<String>) -> [Line] {
        guard !old.isEmpty, !new.isEmpty else { return old.map(Line.old) + new.map(Line.new) }
        guard old.count + new.count > comparedLimit else { return compareAll(old, new) }
        let anchors = UniqueCommonLines(old, new).pairs
        guard !anchors.isEmpty else { return old.map(Line.old) + new.map(Line.new) }
        var lines: [Line] = []
        var (left, right) = (old.startIndex, new.startIndex)
        for anchor in anchors {
            lines += compare(old[left..<anchor.old], new[right..<anchor.new]) + [.same(old[anchor.old])]
            (left, right) = (anchor.old + 1, anchor.new + 1)
        }
        return lines + compare(old[left...], new[right...])
    }

    private static func compareAll(_ old: ArraySlice<String>, _ new: ArraySlice<String>) -> [Line] {
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

    /// Shortens long runs of equal lines. The result begins and ends with a difference.
    private static func shortened(_ lines: [Line]) -> [Line] {
        var result: [Line] = []
        var same: [Line] = []
        for line in lines {
            if case .same = line {
                same.append(line)
                continue
            }
            // The `…` takes a line itself, so it never replaces a single line.
            if same.count > 2 * context + 1 {
                let far = context..<same.count - context
                let shown = enclosing(Array(same[far]), same[far.upperBound...] + [line], leadsIn: false)
                same.replaceSubrange(far, with: shown)
            }
            result += same
            result.append(line)
            same = []
        }
        return result + same
    }
}

extension LineDiff.Line {
    /// The number of spaces that the line begins with.
    fileprivate var indentation: Int {
        switch self {
        case .same(let text), .old(let text), .new(let text): text.utf8.prefix { $0 == UInt8(ascii: " ") }.count
        case .omitted: 0
        }
    }
}

extension LineDiff {
    /// The lines of a text without colours: `  same`, `- old`, `+ new`, `…`.
    package var plainLines: [String] {
        lines.map { line in
            switch line {
            case .same(let text): "  " + text
            case .old(let text): "- " + text
            case .new(let text): "+ " + text
            case .omitted: "…"
            }
        }
    }
}
