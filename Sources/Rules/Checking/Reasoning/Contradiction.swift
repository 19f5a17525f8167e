internal import LosslessJSON

/// Why the clauses of a conjunction can never all hold. Finds only certain contradictions, and not all of them.
struct Contradiction {
    let position: SourcePosition
    let message: String

    /// A condition on a field, and the clause that states it.
    struct Requirement {
        let path: FieldPath
        let condition: Condition
        let clause: LocatedClause

        var order: ValueOrder { path.isID ? .terms : .collation }
    }

    /// The first contradiction. Nil if none is found.
    ///
    /// - Parameter isDocument: Whether the clauses are about a document, not about an element of a list.
    init?(in clauses: [LocatedClause], isDocument: Bool = true) {
        let requirements = clauses.compactMap { Requirement($0, isDocument: isDocument) }
        for requirement in requirements {
            let gateways = isDocument ? requirement.conflictWithGateway : nil
            guard let reason = gateways ?? requirement.condition.impossibility(order: requirement.order) else {
                continue
            }
            position = requirement.clause.position
            message = "\(requirement.clause.excerpt) never holds: \(reason)"
            return
        }
        for (index, requirement) in requirements.enumerated() {
            for other in requirements[..<index] {
                guard let reason = requirement.conflict(with: other) ?? other.conflict(with: requirement) else {
                    continue
                }
                position = requirement.clause.position
                let place = isDocument ? " (line \(other.clause.position.line))" : ""
                message =
                    "\(other.clause.excerpt)\(place) and \(requirement.clause.excerpt) never hold together: \(reason)"
                return
            }
        }
        return nil
    }
}

extension Contradiction.Requirement {
    /// Nil if the clause is not a condition on one field.
    fileprivate init?(_ clause: LocatedClause, isDocument: Bool) {
        self.clause = clause
        switch clause.selector {
        case .field(let path, let condition): (self.path, self.condition) = (path, condition)
        case .value(let condition) where !isDocument: (path, self.condition) = (.root, condition)
        default: return nil
        }
    }
}

// MARK: - One condition

extension Condition {
    /// Why no value satisfies the condition, and what to do.
    fileprivate func impossibility(order: ValueOrder) -> String? {
        switch self {
        case .isIn(let literals) where literals.isEmpty: return "an empty list matches nothing; write the values"
        case .all(let literals) where literals.isEmpty: return "with an empty list it is always false; write the values"
        case .modulus(let modulus) where modulus.divisor == 0:
            return "dividing by 0 makes the document a dead letter; write another divisor"
        case .modulus(let modulus) where modulus.remainder.magnitude >= modulus.divisor.magnitude:
            return "a remainder is smaller than its divisor; correct one of the two"
        case .compare(.less, let literal) where literal.value.kind == .null && order == .collation:
            return "nothing is less than null; compare with a value"
        case .anyElement(let selector), .allElements(let selector), .anyKey(let selector):
            // Elements are compared in the order of their list's field.
            let clauses = selector.conjuncts.map { LocatedClause($0, at: .start) }
            return Contradiction(in: clauses, isDocument: false)?.message
        default: return nil
        }
    }
}

// MARK: - Two conditions

extension Contradiction.Requirement {
    private static let remedy = "remove one, or combine them with $or"

    /// The conflict with the type of a member that the gateway sets. Nil if there is none.
    fileprivate var conflictWithGateway: String? {
        guard path.steps.count == 1, !condition.isAbsence else { return nil }
        let kinds: KindSet
        let text: String
        switch String(decoding: path.steps[0].name, as: UTF8.self) {
        case "_id", "_rev": (kinds, text) = (.string, "text; put the value in quotes")
        case "_deleted": (kinds, text) = (.boolean, "true or false")
        case "_attachments": (kinds, text) = (.object, "an object; test its members: _attachments.NAME")
        default: return nil
        }
        guard kinds.isDisjoint(with: KindSet(of: condition, order: order)) else { return nil }
        return "this member is always \(text)"
    }

    /// Why the two can't both hold for one document. Not symmetric.
    fileprivate func conflict(with other: Contradiction.Requirement) -> String? {
        if other.path.isBelow(path) { return conflict(withBelow: other) }
        guard path == other.path else { return nil }
        if condition.isAbsence, !other.condition.isAbsence {
            return "the other condition needs '\(path.spelling)' to exist; \(Self.remedy)"
        }
        if case .not(let negated) = condition, SelectorText.full(negated) == SelectorText.full(other.condition) {
            return "one is the opposite of the other; \(Self.remedy)"
        }
        if case .compare(.equal, let literal) = condition,
            other.condition.answer(forAllEqualTo: literal.value, order: order) == false
        {
            return "one condition requires a value that does not satisfy the other; \(Self.remedy)"
        }
        if KindSet(of: condition, order: order).isDisjoint(with: KindSet(of: other.condition, order: order)) {
            return "no value has both types; \(Self.remedy)"
        }
        return conflictOfValues(other)
    }

    private func conflictOfValues(_ other: Contradiction.Requirement) -> String? {
        switch (condition, other.condition) {
        case (.compare(let lower, let least), .compare(let upper, let most))
        where lower.isLowerBound && upper.isUpperBound:
            let relation = order.compare(least.value, most)
            let isEmpty = relation == .greater || relation == .equal && !(lower.isInclusive && upper.isInclusive)
            return isEmpty ? "no value lies between them; swap the limits, or combine them with $or" : nil
        case (.size(let size), .size(let otherSize)): return size == otherSize ? nil : "a list has only one size"
        case (.size(0), .all), (.size(0), .anyElement), (.size(0), .allElements):
            return "an empty list has no elements; \(Self.remedy)"
        case (.beginsWith(let prefix), .beginsWith(let otherPrefix)):
            let isCompatible = prefix.starts(with: otherPrefix) || otherPrefix.starts(with: prefix)
            return isCompatible ? nil : "no string begins with both; \(Self.remedy)"
        case (.isIn(let literals), .isNotIn(let others)):
            let areExcluded = literals.allSatisfy { literal in others.contains { order.areEqual(literal.value, $0) } }
            return areExcluded ? "each value of one list is in the other; \(Self.remedy)" : nil
        case (.isIn(let literals), .regex), (.isIn(let literals), .beginsWith), (.isIn(let literals), .type):
            // One matching element of a list would be enough, but these conditions never hold for a list.
            if KindSet(of: other.condition, order: order).contains(.array) { return nil }
            let areRefused = literals.allSatisfy { other.condition.answer(for: $0.value, order: order) == false }
            return areRefused ? "none of the values satisfies the other; \(Self.remedy)" : nil
        default: return nil
        }
    }

    /// The conflict with a condition on a field inside this one.
    private func conflict(withBelow other: Contradiction.Requirement) -> String? {
        if condition.isAbsence {
            let needsField = !other.condition.isAbsence
            return needsField ? "the other condition needs '\(path.spelling)' to exist; \(Self.remedy)" : nil
        }
        let below = Array(other.path.steps[path.steps.count...])
        if case .compare(.equal, let literal) = condition, literal.value.kind == .object || literal.value.kind == .array
        {
            switch FieldPath.lookUp(along: below, in: literal.value) {
            case .bad: return "one condition requires a value that has no '\(other.path.spelling)'; \(Self.remedy)"
            case .missing where !other.condition.isAbsence:
                return "one condition requires a value that has no '\(other.path.spelling)'; \(Self.remedy)"
            case .missing: return nil
            case .found(let value):
                let isRefused = other.condition.answer(forAllEqualTo: value, order: .collation) == false
                return isRefused
                    ? "one condition requires a value that does not satisfy the other; \(Self.remedy)" : nil
            }
        }
        let kinds = KindSet(of: condition, order: order).intersection(.containers)
        if kinds.isEmpty { return "one condition requires a value without members; \(Self.remedy)" }
        guard kinds == .array else { return nil }
        guard let position = below[0].position, position >= 0 else {
            return "a list has positions, counted from 0, and no members; \(Self.remedy)"
        }
        if case .size(let size) = condition, position >= size { return "positions count from 0; \(Self.remedy)" }
        return nil
    }
}

extension SelectorText {
    /// The whole condition: equal texts mean equal conditions.
    fileprivate static func full(_ condition: Condition) -> String {
        SelectorText(literalLimit: .max).condition(condition)
    }
}

extension Condition.Comparison {
    fileprivate var isLowerBound: Bool { self == .greater || self == .greaterOrEqual }
    fileprivate var isUpperBound: Bool { self == .less || self == .lessOrEqual }
    fileprivate var isInclusive: Bool { self == .greaterOrEqual || self == .lessOrEqual }
}
