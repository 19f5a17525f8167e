/// The places of one rule at which tests can see outcomes.
struct CoveredRule {
    private(set) var points: [CoveragePoint] = []
    /// Nil without `unless`.
    private(set) var unless: NumberedSelector?
    private(set) var when = NumberedSelector.all([])
    /// The indexes in ``points`` of the conditions of `when`, `unless` and `changed`, in their order.
    private(set) var whenPoints: Range<Int> = 0..<0
    private(set) var unlessPoints: Range<Int> = 0..<0
    private(set) var changedPoints: Range<Int> = 0..<0
    private(set) var onPoints: [(edge: Rule.Changes, point: Int)] = []
    private(set) var timePoint: Int?
    private(set) var conditionPoint: Int?
    /// For each step of `then`.
    private(set) var actionPoints: [Int] = []
    private(set) var elementPoints: [Int?] = []

    /// The index in ``points`` of the rule as a whole.
    static let rulePoint = 0

    init(_ rule: Rule) {
        points = [CoveragePoint(.rule, at: rule.position, DisplayText.plain(rule.name), [.fires])]
        let source = rule.definition.source
        addEdges(rule, source)
        addSelectors(rule, source)
        if let node = source.member("at") { timePoint = add(.at, node, Self.program(node), [.true, .false]) }
        if let node = source.member("if") { conditionPoint = add(.if, node, Self.program(node), [.true, .false]) }
        for placed in rule.locatedSteps { addStep(placed) }
    }

    private mutating func add(
        _ kind: CoveragePoint.Kind, _ node: SourceNode, _ text: String, _ results: [CoveragePoint.Result]
    ) -> Int {
        points.append(CoveragePoint(kind, at: node.position, text, results))
        return points.count - 1
    }

    private static func program(_ node: SourceNode) -> String {
        DisplayText.plain(
            (node.text ?? node.member("jq")?.text ?? "").split(whereSeparator: \.isWhitespace).joined(separator: " "))
    }

    private mutating func addStep(_ placed: LocatedStep) {
        let elements = placed.element.member(RuleStep.elementsKey)
        elementPoints.append(elements.map { add(.forEach, $0, Self.program($0), [.true, .false]) })
        let node = SourceNode(
            content: .null, position: placed.element.actionMember?.position ?? placed.element.position)
        actionPoints.append(add(.then, node, placed.step.action.name, [.runs]))
    }

    private mutating func addEdges(_ rule: Rule, _ source: SourceNode) {
        if case .list(let elements)? = source.member("on")?.content {
            for element in elements {
                guard let name = element.text, let edge = Rule.change(named: name) else { continue }
                let comparesMatches = edge == .enter || edge == .leave
                onPoints.append((edge, add(.on, element, name, comparesMatches ? [.true, .false] : [.true])))
            }
        }
        let first = points.count
        if rule.edges != nil, case .list(let elements)? = source.member("changed")?.content {
            for element in elements {
                _ = add(.changed, element, DisplayText.plain(element.text ?? ""), [.true, .false])
            }
        }
        changedPoints = first..<points.count
    }
}

// MARK: - Selectors

extension CoveredRule {
    private mutating func addSelectors(_ rule: Rule, _ source: SourceNode) {
        var known: [LocatedClause] = []
        if let node = source.member("when") {
            let conditions = SelectorConditions(rule.when, node)
            (when, whenPoints) = (conditions.selector, add(conditions, .when, &known))
        }
        guard let selector = rule.unless, let node = source.member("unless") else { return }
        let conditions = SelectorConditions(selector, node)
        (unless, unlessPoints) = (conditions.selector, add(conditions, .unless, &known))
    }

    /// - Parameter known: The clauses that hold when the conditions are evaluated.
    private mutating func add(
        _ conditions: SelectorConditions, _ kind: CoveragePoint.Kind, _ known: inout [LocatedClause]
    ) -> Range<Int> {
        let first = points.count
        for condition in conditions.all {
            var point = CoveragePoint(kind, at: condition.position, condition.text, [.true, .false])
            if let clause = condition.conjunct {
                let result = Knowledge(holding: known).holds(clause)
                point.outcomes[0].isPossible = result != .no
                point.outcomes[1].isPossible = result != .yes
                known.append(LocatedClause(clause, at: condition.position))
            }
            points.append(point)
        }
        return first..<points.count
    }
}
