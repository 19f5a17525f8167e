internal import LosslessJSON

/// What is certain about a document: which clauses hold, which don't, and what rules have changed since.
struct Knowledge {
    private var holding: [ExactString: Selector] = [:]
    private var refuted: [ExactString: Selector] = [:]
    private var conditions: [FieldPath: [Condition]] = [:]
    /// The changes by rules since then. No clause above reads these members.
    private var effects = RulePrediction()

    /// Knowledge about an arbitrary document: none.
    init() {}

    /// Knowledge about a document for which the rule's `when` holds.
    init(matching rule: CheckedRule) { self.init(holding: rule.when) }

    /// Knowledge about a document for which these clauses hold.
    init(holding clauses: [LocatedClause]) {
        for clause in clauses { holding[ExactString(clause.text)] = clause.selector }
        indexConditions()
    }

    /// Knowledge about a document for which the rule fires.
    init(firing rule: CheckedRule) {
        self.init(matching: rule)
        if let unless = rule.rule.unless { refuted[Self.text(unless)] = unless }
    }

    /// Updates the knowledge after a rule has fired.
    mutating func apply(_ prediction: RulePrediction) {
        holding = holding.filter { !prediction.mayChange($0.value) }
        refuted = refuted.filter { !prediction.mayChange($0.value, isRefuted: true) }
        effects.edits += prediction.edits
        effects.mayEditEverything = effects.mayEditEverything || prediction.mayEditEverything
        indexConditions()
    }

    private mutating func indexConditions() {
        conditions = [:]
        for case .field(let path, let condition) in holding.values { conditions[path, default: []].append(condition) }
    }

    /// Whether the rule's selectors hold for the document.
    func fires(_ rule: CheckedRule) -> Certainty {
        var parts = rule.when.map(holds)
        if let unless = rule.rule.unless { parts.append(holds(unless).opposite) }
        return .all(parts)
    }

    /// Like ``fires(_:)``, for callers that only need to know whether the answer is yes. Stops at the first uncertain
    /// clause.
    func certainlyFires(_ rule: CheckedRule) -> Bool {
        guard certainlyHolds(rule.when) else { return false }
        return rule.rule.unless.map { holds($0) == .no } ?? true
    }

    /// Whether all these clauses hold.
    func certainlyHolds(_ clauses: [LocatedClause]) -> Bool { clauses.allSatisfy { holds($0) == .yes } }

    private func holds(_ clause: LocatedClause) -> Certainty {
        if holding[ExactString(clause.text)] != nil { return .yes }
        if case .field(let path, let condition) = clause.selector { return holds(condition, at: path) }
        return holds(clause.selector)
    }

    func holds(_ selector: Selector) -> Certainty {
        if !refuted.isEmpty, refuted[Self.text(selector)] != nil { return .no }
        switch selector {
        case .all(let selectors): return .all(selectors.map(holds))
        case .any(let selectors): return selectors.isEmpty ? .yes : .any(selectors.map(holds))
        case .none(let selectors): return Certainty.any(selectors.map(holds)).opposite
        case .not(let selector): return holds(selector).opposite
        case .value: return .unknown
        case .field(let path, let condition):
            if holding[Self.text(selector)] != nil { return .yes }
            return holds(condition, at: path)
        }
    }

    private func holds(_ condition: Condition, at path: FieldPath) -> Certainty {
        switch effects.prediction(for: path) {
        case .unchanged, .keptIfParentWasObject: break
        case .value(let value): return Certainty(condition.answer(for: value, order: .collation))
        case .missing: return Certainty(condition.isAbsence)
        case .noSuchPlace: return .no
        case .present: return condition.isPresence ? .yes : condition.isAbsence ? .no : .unknown
        case .unknown: return .unknown
        }
        for known in conditions[path] ?? [] {
            let answer = known.implies(condition, order: path.isID ? .terms : .collation)
            if answer != .unknown { return answer }
        }
        return .unknown
    }

    private static func text(_ selector: Selector) -> ExactString {
        ExactString(SelectorText(literalLimit: .max).clause(selector))
    }
}

extension Condition {
    /// `$exists: false`.
    var isAbsence: Bool { if case .exists(false) = self { true } else { false } }

    /// `$exists: true`.
    var isPresence: Bool { if case .exists(true) = self { true } else { false } }

    /// Whether the condition holds for this value. Nil if matching fails.
    func answer(for value: JSONValue, order: ValueOrder) -> Bool? {
        try? matches(value, MatchScratch(), order: order)
    }

    /// Whether the condition holds for all values equal to this one (true), for none (false), or neither (nil).
    ///
    /// Equal values may still differ as numbers for `$mod` (5 and 5.0) and as elements for `$all`.
    func answer(forAllEqualTo value: JSONValue, order: ValueOrder) -> Bool? {
        switch self {
        case .modulus where value.kind == .number && !value.isInteger: nil
        case .all where value.kind == .array: nil
        case .not(let condition): condition.answer(forAllEqualTo: value, order: order).map { !$0 }
        default: answer(for: value, order: order)
        }
    }

    /// Whether `other` holds for every field for which this condition holds.
    func implies(_ other: Condition, order: ValueOrder) -> Certainty {
        if isAbsence { return other.isAbsence ? .yes : .no }
        if other.isAbsence { return .no }
        if other.isPresence { return .yes }
        if case .compare(.equal, let literal) = self {
            return Certainty(other.answer(forAllEqualTo: literal.value, order: order))
        }
        return .unknown
    }
}
