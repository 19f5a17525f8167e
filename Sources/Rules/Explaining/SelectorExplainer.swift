internal import LosslessJSON

/// Evaluates every clause of a selector, including those that matching would skip. The result is the same as in
/// matching.
struct SelectorExplainer {
    /// The maximum number of list elements shown, in addition to the decisive one.
    private static let elementLimit = 10

    private let scratch: MatchScratch
    private let formatter = SelectorText()
    /// How many more elements may be shown at all levels.
    private var remaining = 1_000

    init(_ scratch: MatchScratch) { self.scratch = scratch }

    /// Explains a whole selector under a name: `when`, `unless`.
    mutating func explain(_ selector: Selector, named name: String, of document: JSONValue) -> SelectorExplanation {
        if case .all(let selectors) = selector {
            return conjunction(selectors.isEmpty ? name + ": {}" : name, selectors, document, .collation)
        }
        return conjunction(name, [selector], document, .collation)
    }

    /// Recurses as deep as the selector.
    private mutating func explain(
        _ selector: Selector, of value: JSONValue, _ order: ValueOrder
    ) -> SelectorExplanation {
        switch selector {
        case .all(let selectors): conjunction("$and", selectors, value, order)
        case .any(let selectors):
            // An empty `$or` is true, like an empty `$and`.
            selectors.isEmpty
                ? conjunction("$or: []", [], value, order)
                : SelectorExplanation("$or", explainAll(selectors, value, order), decisive: .holds, gives: .holds)
        case .none(let selectors):
            SelectorExplanation("$nor", explainAll(selectors, value, order), decisive: .holds, gives: .fails)
        case .not(let selector):
            SelectorExplanation("$not", [explain(selector, of: value, order)], decisive: .holds, gives: .fails)
        case .value(let condition): explain(condition, formatter.clause(selector), of: value, order)
        case .field(let path, let condition): field(path, condition, formatter.clause(selector), value, order)
        }
    }

    private mutating func explainAll(
        _ selectors: [Selector], _ value: JSONValue, _ order: ValueOrder
    ) -> [SelectorExplanation] {
        var explanations: [SelectorExplanation] = []
        for selector in selectors { explanations.append(explain(selector, of: value, order)) }
        return explanations
    }

    private mutating func conjunction(
        _ text: String, _ selectors: [Selector], _ value: JSONValue, _ order: ValueOrder
    ) -> SelectorExplanation {
        let clauses = selectors.flatMap(\.conjuncts)
        return SelectorExplanation(text, explainAll(clauses, value, order), decisive: .fails, gives: .fails)
    }

    private mutating func field(
        _ path: FieldPath, _ condition: Condition, _ text: String, _ value: JSONValue, _ order: ValueOrder
    ) -> SelectorExplanation {
        switch path.lookUp(in: value) {
        case .found(let found): return explain(condition, text, of: found, path.isID ? .terms : order)
        case .missing:
            if case .exists(false) = condition { return SelectorExplanation(text, .holds, .missing) }
            return SelectorExplanation(text, .fails, .missing, hint: PathHint.missing(path, for: condition, in: value))
        case .bad:
            return SelectorExplanation(text, .fails, .noSuchPlace, hint: PathHint.noSuchPlace(path, in: value))
        }
    }

    private mutating func explain(
        _ condition: Condition, _ text: String, of value: JSONValue, _ order: ValueOrder
    ) -> SelectorExplanation {
        let finding = SelectorExplanation.Finding.found(DisplayText.json(value))
        if let elements = elements(condition, value, order) {
            return SelectorExplanation(
                text, elements.result, finding, hint: elements.hint, elements: elements.shown,
                omittedCount: elements.omittedCount)
        }
        let result = result { () throws(MatchError) in try condition.matches(value, scratch, order: order) }
        let hint = result == .fails ? MismatchHint.of(condition, value, scratch) : nil
        return SelectorExplanation(text, result, finding, hint: hint)
    }

    private func result(_ matches: () throws(MatchError) -> Bool) -> SelectorExplanation.ClauseResult {
        do throws(MatchError) { return try matches() ? .holds : .fails } catch {
            return .noAnswer(reason: error.description)
        }
    }
}

// MARK: - Elements

extension SelectorExplainer {
    private struct Elements {
        var result: SelectorExplanation.ClauseResult
        var shown: [SelectorExplanation] = []
        var omittedCount = 0
        var hint: String?
    }

    /// Nil if the condition does not apply to elements or keys.
    private mutating func elements(_ condition: Condition, _ value: JSONValue, _ order: ValueOrder) -> Elements? {
        switch condition {
        case .not(let condition):
            guard var elements = elements(condition, value, order) else { return nil }
            elements.result = elements.result.opposite
            elements.hint = nil
            return elements
        case .anyElement(let selector):
            return elements(value.elements, selector, order, decisive: .holds, hint: MismatchHint.of(condition, value))
        case .allElements(let selector):
            var elements = elements(
                value.elements, selector, order, decisive: .fails, hint: MismatchHint.of(condition, value))
            if elements.result == .holds, value.element(0) == nil { elements.result = .fails }
            return elements
        case .anyKey(let selector):
            let names = value.members.lazy.map(\.name)
            return elements(
                names, selector, order, label: "key", decisive: .holds, hint: MismatchHint.of(condition, value))
        default: return nil
        }
    }

    /// Evaluates elements until one is decisive. Always explains the first ones.
    private mutating func elements(
        _ values: some Sequence<JSONValue>, _ selector: Selector, _ order: ValueOrder, label: String? = nil,
        decisive: SelectorExplanation.ClauseResult, hint: String?
    ) -> Elements {
        var elements = Elements(result: decisive.opposite)
        var isDecided = false
        for (position, value) in values.enumerated() {
            let isEarly = elements.shown.count < Self.elementLimit && remaining > 0
            var result = decisive.opposite
            if !isEarly, !isDecided {
                result = self.result { () throws(MatchError) in
                    try selector.matches(value, scratch, order: order)
                }
            }
            if isEarly || result != decisive.opposite, remaining > 0 {
                remaining -= 1
                let explanation = explain(selector, of: value, order).labelled(label ?? "[\(position)]")
                elements.shown.append(explanation)
                result = explanation.result
            } else {
                elements.omittedCount += 1
            }
            guard !isDecided, result != decisive.opposite else { continue }
            isDecided = true
            elements.result = result
        }
        elements.hint = elements.result == .fails ? hint : nil
        return elements
    }
}

extension SelectorExplanation {
    fileprivate func labelled(_ label: String) -> SelectorExplanation {
        var labelled = self
        labelled.text = text == "$and" ? label : "\(label) \(text)"
        return labelled
    }
}

extension Selector {
    /// The clauses that must all hold.
    var conjuncts: [Selector] {
        if case .all(let selectors) = self { selectors.flatMap(\.conjuncts) } else { [self] }
    }
}
