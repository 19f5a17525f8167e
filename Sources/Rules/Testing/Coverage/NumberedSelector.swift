internal import LosslessJSON

/// A normalised selector whose conditions are numbered in the order of the file, so that their results can be counted.
///
/// The conditions inside `$elemMatch`, `$allMatch` and `$keyMapMatch` have numbers, and not the operator.
indirect enum NumberedSelector: Sendable {
    case all([NumberedSelector])
    case any([NumberedSelector])
    case none([NumberedSelector])
    case not(NumberedSelector)
    case condition(Int, Selector)
    case elements(Elements, NumberedSelector)

    /// A condition that applies a selector to the elements or keys of a value.
    struct Elements: Sendable {
        enum Quantifier: Sendable {
            case anyElement, allElements, anyKey
        }

        /// Nil: the value itself.
        let path: FieldPath?
        let quantifier: Quantifier
        let isNegated: Bool
        /// The numbers of the conditions inside.
        let numbers: Range<Int>
    }

    /// What a selector tells while it is evaluated.
    enum Step {
        /// The condition is about to be evaluated, or the elements that it would test.
        case reaches(Int)
        case finds(Int, Bool)
    }
}

extension NumberedSelector {
    /// The same result as ``Selector/matches(_:_:order:)``, evaluated in the same order. Conditions that the earlier ones
    /// make irrelevant are not evaluated. Recurses as deep as the selector.
    func matches(
        _ value: JSONValue, _ scratch: MatchScratch, order: ValueOrder = .collation, _ note: (Step) -> Void
    ) throws(MatchError) -> Bool {
        switch self {
        case .all(let selectors):
            for selector in selectors where try !selector.matches(value, scratch, order: order, note) { return false }
            return true
        case .any(let selectors):
            for selector in selectors where try selector.matches(value, scratch, order: order, note) { return true }
            return selectors.isEmpty
        case .none(let selectors):
            for selector in selectors where try selector.matches(value, scratch, order: order, note) { return false }
            return true
        case .not(let selector): return try !selector.matches(value, scratch, order: order, note)
        case .condition(let number, let selector):
            note(.reaches(number))
            let holds = try selector.matches(value, scratch, order: order)
            note(.finds(number, holds))
            return holds
        case .elements(let elements, let selector):
            for number in elements.numbers { note(.reaches(number)) }
            return try elements.match(selector, value, scratch, order, note)
        }
    }
}

extension NumberedSelector.Elements {
    fileprivate func match(
        _ selector: NumberedSelector, _ value: JSONValue, _ scratch: MatchScratch, _ order: ValueOrder,
        _ note: (NumberedSelector.Step) -> Void
    ) throws(MatchError) -> Bool {
        var (value, order) = (value, order)
        if let path {
            // Even negated, no such condition holds for a missing member.
            guard case .found(let found) = path.lookUp(in: value) else { return false }
            (value, order) = (found, path.isID ? .terms : order)
        }
        return try holds(selector, value, scratch, order, note) != isNegated
    }

    private func holds(
        _ selector: NumberedSelector, _ value: JSONValue, _ scratch: MatchScratch, _ order: ValueOrder,
        _ note: (NumberedSelector.Step) -> Void
    ) throws(MatchError) -> Bool {
        switch quantifier {
        case .anyElement:
            for element in value.elements where try selector.matches(element, scratch, order: order, note) {
                return true
            }
            return false
        case .allElements:
            var isEmpty = true
            for element in value.elements {
                guard try selector.matches(element, scratch, order: order, note) else { return false }
                isEmpty = false
            }
            return !isEmpty
        case .anyKey:
            for member in value.members where try selector.matches(member.name, scratch, order: order, note) {
                return true
            }
            return false
        }
    }
}
