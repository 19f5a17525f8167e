/// A small change to one rule, which a test should notice.
struct Mutation: Sendable {
    let position: SourcePosition
    /// What is different: ``without `done: false` ``.
    let change: String
    /// The rule with the change.
    let source: SourceNode
    /// The index in ``CoveredRule/points`` of what must be evaluated before the change can matter. Nil: always.
    let point: Int?
    /// The condition of a selector that is changed, and whether it belongs to `unless`. Nil for other changes.
    var condition: (text: String, isException: Bool)?
}

extension Mutation {
    /// All changes of a rule, in the order of the file. Some of them are not valid rules.
    ///
    /// - Parameter folder: Of the rule file.
    static func all(of rule: Rule, _ covered: CoveredRule, folder: String?) -> [Mutation] {
        let source = rule.definition.source
        let selectors = [("when", covered.whenPoints), ("unless", covered.unlessPoints)].flatMap { key, points in
            SelectorMutations(source, key, points, covered.points).all
        }
        let mutations = selectors + keys(source, covered) + ActionMutations(rule, covered, folder: folder).all
        return mutations.sorted {
            ($0.position.line, $0.position.column) < ($1.position.line, $1.position.column)
        }
    }

    /// Changes of the conditions besides the selectors.
    private static func keys(_ source: SourceNode, _ covered: CoveredRule) -> [Mutation] {
        var all: [Mutation] = []
        if let node = source.member("if") {
            all.append(without("if", source, at: covered.conditionPoint))
            if let negated = negated(node) {
                all.append(
                    Mutation(
                        position: node.position, change: "`if` negated",
                        source: source.replacing([.member("if")], with: negated), point: covered.conditionPoint))
            }
        }
        if source.member("at") != nil { all.append(without("at", source, at: covered.timePoint)) }
        for key in ["on", "changed"] {
            guard case .list(let elements)? = source.member(key)?.content else { continue }
            if elements.count == 1 { all.append(without(key, source, at: nil)) }
            for (index, element) in elements.enumerated() where elements.count > 1 {
                guard let changed = source.removing([.member(key), .element(index)], prunes: false) else { continue }
                all.append(
                    Mutation(
                        position: element.position, change: "`\(key)` without \(FlowText.text(element))",
                        source: changed, point: nil))
            }
        }
        for key in ["first", "on_error"] where source.member(key) != nil { all.append(without(key, source, at: nil)) }
        return all
    }

    private static func without(_ key: String, _ source: SourceNode, at point: Int?) -> Mutation {
        Mutation(
            position: source.member(key)?.position ?? source.position, change: "without `\(key)`",
            source: source.removing([.member(key)], prunes: false) ?? source, point: point)
    }

    /// The program with the opposite result. Nil if the node is not a program.
    private static func negated(_ node: SourceNode) -> SourceNode? {
        guard let program = node.text ?? node.member("jq")?.text else { return nil }
        // A comment may end the program.
        return SourceNode(content: .string("[\(program)\n] | .[0] | not"), position: node.position)
    }
}
