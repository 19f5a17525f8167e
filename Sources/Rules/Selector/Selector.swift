internal import LosslessJSON

/// A Mango selector, normalised like CouchDB's: explicit operators, field names at the leaves, negations inside the
/// conditions.
///
/// - Note: Source: CouchDB 3.5 `mango_selector:normalize` and `match`; checked against recorded answers of a real
///   server.
indirect enum Selector: Sendable {
    /// `$and`. True without selectors.
    case all([Selector])
    /// `$or`. Also true without selectors.
    case any([Selector])
    /// After normalisation only inside `$elemMatch`, `$allMatch` and `$keyMapMatch`, where CouchDB leaves it.
    case not(Selector)
    /// `$nor`. Removed by normalisation.
    case none([Selector])
    case field(FieldPath, Condition)
    /// A condition without a field name, on the element, the key or the document itself.
    case value(Condition)
}

extension Selector {
    /// Whether the selector holds for a value. Recurses as deep as the selector.
    ///
    /// - Parameter order: The order of the field in which the value was found.
    func matches(
        _ value: JSONValue, _ scratch: MatchScratch, order: ValueOrder = .collation
    ) throws(MatchError) -> Bool {
        switch self {
        case .all(let selectors):
            for selector in selectors where try !selector.matches(value, scratch, order: order) { return false }
            return true
        case .any(let selectors):
            for selector in selectors where try selector.matches(value, scratch, order: order) { return true }
            return selectors.isEmpty
        case .not(let selector): return try !selector.matches(value, scratch, order: order)
        case .none(let selectors):
            for selector in selectors where try selector.matches(value, scratch, order: order) { return false }
            return true
        case .value(let condition): return try condition.matches(value, scratch, order: order)
        case .field(let path, let condition):
            switch path.lookUp(in: value) {
            case .found(let found):
                return try condition.matches(found, scratch, order: path.isID ? .terms : order)
            case .bad: return false
            case .missing:
                if case .exists(false) = condition { return true }
                return false
            }
        }
    }
}

// MARK: - Negations

extension Selector {
    /// The selector with negations moved inward, until they vanish or apply to a single condition.
    ///
    /// `$ne`, `$nin` and a negated condition still require the field to exist.
    var normalized: Selector {
        switch self {
        case .not(let selector): selector.negated
        case .none(let selectors): .all(selectors.map(\.negated))
        case .all(let selectors): .all(selectors.map(\.normalized))
        case .any(let selectors): .any(selectors.map(\.normalized))
        // Selectors inside $elemMatch, $allMatch and $keyMapMatch stay as written.
        case .field, .value: self
        }
    }

    private var negated: Selector {
        switch self {
        case .not(let selector): selector.normalized
        case .none(let selectors): .any(selectors.map(\.normalized))
        case .all(let selectors): .any(selectors.map(\.negated))
        case .any(let selectors): .all(selectors.map(\.negated))
        case .field(let path, let condition): .field(path, condition.negated)
        case .value(let condition): .value(condition.negated)
        }
    }
}

extension Condition {
    fileprivate var negated: Condition {
        switch self {
        case .compare(let comparison, let literal): .compare(comparison.negated, literal)
        case .isIn(let literals): .isNotIn(literals)
        case .isNotIn(let literals): .isIn(literals)
        case .exists(let shouldExist): .exists(!shouldExist)
        default: .not(self)
        }
    }
}
