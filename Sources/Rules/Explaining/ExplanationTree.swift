/// One line of an explanation.
package struct ExplanationLine: Hashable, Sendable {
    /// The whole line, mark included, safe to print.
    package let text: String
    /// The result that the line's mark shows, for colouring. Nil if the line has no mark.
    package let result: SelectorExplanation.ClauseResult?
}

/// Draws explanations as trees, with their marks in one column.
struct ExplanationTree {
    /// Longer lines have their mark at the end.
    private static let markColumnLimit = 64

    private struct Branch {
        let text: String
        let result: SelectorExplanation.ClauseResult?
        var remark = ""
    }

    private var branches: [Branch] = []

    init(_ explanation: RuleExplanation) {
        add(explanation.when, lead: "  ", below: "  ")
        if let unless = explanation.unless { add(unless, lead: "  ", below: "  ") }
        add(explanation.condition, explanation.conditionDetails)
    }

    private mutating func add(_ condition: RuleExplanation.Condition, _ seen: ConditionExplanation?) {
        let text = "  if" + (seen.map { ": \($0.program)" } ?? "")
        let values = seen?.values.joined(separator: ", ") ?? ""
        switch condition {
        case .none: break
        case .holds: branches.append(Branch(text: text, result: .holds, remark: values))
        case .fails: branches.append(Branch(text: text, result: .fails, remark: values))
        case .notEvaluated: branches.append(Branch(text: "  if  (not evaluated)", result: nil))
        case .failed(let reason):
            branches.append(Branch(text: text, result: .noAnswer(reason: reason), remark: values))
        }
    }

    /// - Parameters:
    ///   - lead: The prefix of the node's line.
    ///   - below: The prefix of its children's lines.
    private mutating func add(_ node: SelectorExplanation, lead: String, below: String) {
        branches.append(Branch(text: lead + node.text, result: node.result, remark: Self.remark(node)))
        let lastIndex = node.children.count - (node.omittedCount > 0 ? 0 : 1)
        for (index, child) in node.children.enumerated() {
            let isLast = index == lastIndex
            add(child, lead: below + (isLast ? "└─ " : "├─ "), below: below + (isLast ? "   " : "│  "))
        }
        guard node.omittedCount > 0 else { return }
        branches.append(Branch(text: below + "└─ … \(node.omittedCount) more", result: nil))
    }

    private static func remark(_ node: SelectorExplanation) -> String {
        var parts: [String] = []
        switch node.finding {
        case .found(let text): parts.append(text)
        case .missing: parts.append("missing")
        case .noSuchPlace: parts.append("no such path")
        case nil: break
        }
        if let hint = node.hint { parts.append("(\(hint))") }
        if node.children.isEmpty, case .noAnswer(let reason) = node.result {
            parts.append("(\(DisplayText.plain(reason, limit: 400)))")
        }
        return parts.joined(separator: "  ")
    }

    var lines: [ExplanationLine] {
        let markColumn = branches.map(\.text.count).filter { $0 <= Self.markColumnLimit }.max() ?? 0
        return branches.map { branch in
            guard let mark = branch.result?.mark else { return ExplanationLine(text: branch.text, result: nil) }
            let room = String(repeating: " ", count: max(0, markColumn - branch.text.count) + 2)
            let remark = branch.remark.isEmpty ? "" : "  " + branch.remark
            return ExplanationLine(text: branch.text + room + mark + remark, result: branch.result)
        }
    }
}

extension SelectorExplanation.ClauseResult {
    fileprivate var mark: String {
        switch self {
        case .holds: "✓"
        case .fails: "✗"
        case .noAnswer: "!"
        }
    }
}

extension RuleExplanation {
    /// The rule's name and outcome, then the trees of its selectors, without colours.
    package var lines: [ExplanationLine] {
        [ExplanationLine(text: "\(DisplayText.plain(name))   \(reason)", result: nil)] + ExplanationTree(self).lines
    }

    /// The texts of ``lines``.
    package func rendered() -> [String] { lines.map(\.text) }
}
