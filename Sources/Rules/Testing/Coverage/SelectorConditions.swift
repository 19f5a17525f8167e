/// The conditions of a selector in a rule file: the smallest that are written there, at any depth.
struct SelectorConditions: Sendable {
    struct Condition: Sendable {
        /// The position of the operator, or of the field if the operator is omitted, or of an element of `$or`.
        let position: SourcePosition
        /// The normalised condition, with the fields and operators around it: `tags: { $elemMatch: { $eq: "a" } }`.
        let text: String
        /// The condition without what is around it, if it is one of those that must all hold. Nil for others.
        let conjunct: Selector?
    }

    private(set) var all: [Condition] = []
    private(set) var selector = NumberedSelector.all([])
    private var positions: [SourcePosition] = []

    /// - Parameters:
    ///   - selector: The normalised selector of the node.
    ///   - node: The selector in the file, without errors.
    init(_ selector: Selector, _ node: SourceNode) {
        if case .object(let members) = node.content { addPositions(members) }
        var clauses: [NumberedSelector] = []
        for clause in selector.conjuncts {
            clauses.append(number(clause, isConjunct: true) { $0 })
        }
        self.selector = .all(clauses)
    }
}

// MARK: - Positions

extension SelectorConditions {
    /// Visits the conditions in the order in which ``SelectorReader`` reads them. Normalisation keeps this order.
    private mutating func addPositions(_ members: [SourceNode.Member]) {
        for member in members { addPositions(member) }
    }

    private mutating func addPositions(_ member: SourceNode.Member) {
        switch member.name {
        case "$and", "$or", "$nor":
            guard case .list(let elements) = member.value.content else { return }
            for element in elements { addPositions(element, at: element.position) }
        case "$not", "$elemMatch", "$allMatch", "$keyMapMatch": addPositions(member.value, at: member.position)
        case let name where name.hasPrefix("$"): positions.append(member.position)
        default: addPositions(member.value, at: member.position)
        }
    }

    private mutating func addPositions(_ node: SourceNode, at position: SourcePosition) {
        if case .object(let members) = node.content, !members.isEmpty {
            addPositions(members)
        } else {
            positions.append(position)
        }
    }
}

// MARK: - Numbers

extension SelectorConditions {
    private typealias Wrap = (String) -> String

    /// - Parameter wrap: Adds the fields and operators around a condition to its text.
    private mutating func number(
        _ selector: Selector, isConjunct: Bool = false, _ wrap: @escaping Wrap
    ) -> NumberedSelector {
        switch selector {
        case .all(let selectors): return .all(number(selectors, wrap))
        case .any(let selectors): return .any(number(selectors, wrap))
        case .none(let selectors): return .none(number(selectors, wrap))
        case .not(let inner): return .not(number(inner) { wrap("$not: { \($0) }") })
        case .value(let condition): return number(condition, nil, selector, isConjunct: isConjunct, wrap)
        case .field(let path, let condition): return number(condition, path, selector, isConjunct: isConjunct, wrap)
        }
    }

    private mutating func number(_ selectors: [Selector], _ wrap: @escaping Wrap) -> [NumberedSelector] {
        var numbered: [NumberedSelector] = []
        for selector in selectors { numbered.append(number(selector, wrap)) }
        return numbered
    }

    private mutating func number(
        _ condition: Rules.Condition, _ path: FieldPath?, _ selector: Selector, isConjunct: Bool, _ wrap: @escaping Wrap
    ) -> NumberedSelector {
        guard let (quantifier, inner, isNegated) = condition.quantified else {
            let position = all.count < positions.count ? positions[all.count] : .start
            all.append(
                Condition(
                    position: position, text: wrap(SelectorText().clause(selector)),
                    conjunct: isConjunct ? selector : nil))
            return .condition(all.count - 1, selector)
        }
        let first = all.count
        let numbered = number(inner) { text in
            var text = "\(condition.quantifierName): { \(text) }"
            if isNegated { text = "$not: { \(text) }" }
            if let path { text = "\(SelectorText().name(path)): { \(text) }" }
            return wrap(text)
        }
        let elements = NumberedSelector.Elements(
            path: path, quantifier: quantifier, isNegated: isNegated, numbers: first..<all.count)
        return .elements(elements, numbered)
    }
}

extension Condition {
    /// A condition on elements or keys. Nil for other conditions.
    fileprivate var quantified: (NumberedSelector.Elements.Quantifier, Selector, isNegated: Bool)? {
        switch self {
        case .anyElement(let selector): (.anyElement, selector, false)
        case .allElements(let selector): (.allElements, selector, false)
        case .anyKey(let selector): (.anyKey, selector, false)
        case .not(let condition): condition.quantified.map { ($0, $1, !$2) }
        default: nil
        }
    }

    /// Its operator without negations.
    fileprivate var quantifierName: String {
        if case .not(let condition) = self { condition.quantifierName } else { operatorName }
    }
}
