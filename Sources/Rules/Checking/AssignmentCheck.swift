/// Finds conditions in jq programs that assign with `=` where they should compare. The result of an assignment is its
/// whole input, so such a condition is always true.
struct AssignmentCheck {
    /// Functions whose argument at this position is a condition. Negative positions count from the end.
    private static let conditions = ["select": 0, "any": -1, "all": -1, "until": 0, "while": 0]
    private static let comparisons = ["==", "!=", "<=", ">="]

    private let tokens: ProgramTokens
    private let texts: [String]
    /// For each opening bracket or `if`, where it is closed.
    private let ends: [Int: Int]

    /// - Parameter isCondition: Whether the result of the whole program is true or false.
    static func messages(_ program: String, isCondition: Bool) -> [String] {
        let tokens = ProgramTokens(program)
        let inner = tokens.interpolations.flatMap { messages($0, isCondition: false, ProgramTokens($0)) }
        return messages(program, isCondition: isCondition, tokens) + inner
    }

    private static func messages(_ program: String, isCondition: Bool, _ tokens: ProgramTokens) -> [String] {
        let check = AssignmentCheck(tokens)
        let whole = isCondition ? [check.texts.indices] : []
        let found = Set((whole + check.conditions).compactMap(check.assignment))
        return found.sorted { $0.lowerBound < $1.lowerBound }.map { range in
            "the condition '\(DisplayText.plain(check.text(range)))' assigns, so it is always true; write == to compare"
        }
    }

    private init(_ tokens: ProgramTokens) {
        self.tokens = tokens
        texts = tokens.texts
        ends = Self.ends(of: texts)
    }

    private static func ends(of texts: [String]) -> [Int: Int] {
        let closing = [")": "(", "]": "[", "}": "{", "end": "if"]
        var open: [Int] = []
        var ends: [Int: Int] = [:]
        for (index, text) in texts.enumerated() {
            // A key of an object.
            if index + 1 < texts.count, texts[index + 1] == ":" { continue }
            if closing.values.contains(text) { open.append(index) }
            if let opening = closing[text], let last = open.last, texts[last] == opening {
                ends[last] = index
                open.removeLast()
            }
        }
        return ends
    }

    // MARK: - Conditions

    /// A condition: after `if`, in `select(…)` and the like, and as an operand of `and`, `or` and `not`.
    private var conditions: [Range<Int>] {
        texts.indices.flatMap { index -> [Range<Int>] in
            switch texts[index] {
            case "if", "elif":
                return top(from: index + 1).first { texts[$0] == "then" }.map { [index + 1..<$0] } ?? []
            case "(":
                guard let end = ends[index] else { return [] }
                if index > 0, let position = Self.conditions[texts[index - 1]] {
                    let arguments = split(index + 1..<end, at: ";")
                    return [arguments[position < 0 ? arguments.count - 1 : position]]
                }
                let before = index > 0 ? texts[index - 1] : ""
                let isNegated = text(end + 1) == "|" && text(end + 2) == "not"
                let isOperand = [before, text(end + 1)].contains { $0 == "and" || $0 == "or" }
                return isOperand || isNegated ? [index + 1..<end] : []
            default: return []
            }
        }
    }

    private func text(_ index: Int) -> String { texts.indices.contains(index) ? texts[index] : "" }

    /// The tokens from `start` on that are not inside brackets or another `if`.
    private func top(from start: Int, to end: Int? = nil) -> [Int] {
        var found: [Int] = []
        var index = start
        while index < end ?? texts.count {
            found.append(index)
            index = (ends[index] ?? index) + 1
        }
        return found
    }

    private func split(_ range: Range<Int>, at separator: String) -> [Range<Int>] {
        let places = top(from: range.lowerBound, to: range.upperBound).filter { texts[$0] == separator }
        let starts = [range.lowerBound] + places.map { $0 + 1 }
        return zip(starts, places + [range.upperBound]).map { $0..<max($0, $1) }
    }

    // MARK: - Assignments

    /// The part of a condition that assigns. Nil if it compares. What stands before the last `|` does not count.
    private func assignment(_ condition: Range<Int>) -> Range<Int>? {
        var parts = split(condition, at: "|")
        while parts.count > 1, texts[parts[parts.count - 1]] == ["not"] { parts.removeLast() }
        guard let part = parts.last, let first = part.first else { return nil }
        let top = top(from: part.lowerBound, to: part.upperBound)
        guard !top.contains(where: { texts[$0] == "def" }) else { return nil }
        if top.contains(where: { isAssignment(texts[$0]) }) { return part }
        guard let end = ends[first], end == part.upperBound - 1 else { return nil }
        if texts[first] == "(" { return assignment(first + 1..<end) }
        guard texts[first] == "if" else { return nil }
        let places = self.top(from: first + 1, to: end).filter { ["then", "elif", "else"].contains(texts[$0]) }
        return zip(places, places.dropFirst() + [end]).lazy.filter { texts[$0.0] != "elif" }
            .compactMap { assignment($0.0 + 1..<$0.1) }.first
    }

    /// `=`, `|=`, `+=` and the like.
    private func isAssignment(_ token: String) -> Bool {
        token.hasSuffix("=") && !Self.comparisons.contains(where: token.hasSuffix)
    }

    private func text(_ range: Range<Int>) -> String {
        var text = ""
        let scalars = tokens.ranges[range.lowerBound].lowerBound..<tokens.ranges[range.upperBound - 1].upperBound
        text.unicodeScalars.append(contentsOf: tokens.scalars[scalars])
        return text
    }
}
