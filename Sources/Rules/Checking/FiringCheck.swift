internal import LosslessJSON

/// Finds rules that never fire, and clauses without effect.
struct FiringCheck {
    private(set) var warnings: [RuleWarning] = []
    /// Whether one of the ``warnings`` states that the rule never fires.
    private(set) var neverFires = false

    init(_ rule: CheckedRule) {
        let reasons = Self.contradiction(rule) + Self.testOfDeleted(rule) + Self.alwaysMatchingUnless(rule)
        neverFires = !reasons.isEmpty
        warnings = reasons.map { rule.warning(at: $0.position, .neverFires, "it never fires: \($0.message)") }
        warnings += Self.neverMatchingUnless(rule) + Self.tombstone(rule) + Self.missingMember(rule)
    }

    private typealias Reason = (position: SourcePosition, message: String)

    private static func contradiction(_ rule: CheckedRule) -> [Reason] {
        Contradiction(in: rule.when).map { [($0.position, $0.message)] } ?? []
    }

    /// The checks treat `_deleted` as absent from changed documents, so even `_deleted: { $ne: true }` never holds.
    private static func testOfDeleted(_ rule: CheckedRule) -> [Reason] {
        guard rule.rule.on == .change else { return [] }
        return rule.when.compactMap { clause in
            guard case .field(let path, let condition) = clause.selector, path.spelling == "_deleted",
                !condition.isAbsence
            else { return nil }
            return (
                clause.position,
                "a changed document has no _deleted; remove \(clause.excerpt), or write on: [delete] for tombstones"
            )
        }
    }

    private static func alwaysMatchingUnless(_ rule: CheckedRule) -> [Reason] {
        guard let unless = rule.rule.unless else { return [] }
        let position = rule.position(of: "unless")
        if rule.unless.isEmpty { return [(position, "`unless: {}` excludes every document; remove it")] }
        guard Knowledge(matching: rule).holds(unless) == .yes else { return [] }
        return [(position, "`unless` is true whenever `when` is true; change one of the two")]
    }

    private static func neverMatchingUnless(_ rule: CheckedRule) -> [RuleWarning] {
        guard let contradiction = Contradiction(in: rule.unless) else { return [] }
        return [
            rule.warning(
                at: contradiction.position, .uselessUnless, "`unless` excludes nothing: \(contradiction.message)")
        ]
    }

    /// `reminded: { $ne: true }` of a rule that writes `reminded: true`: it never fires for documents that begin without
    /// the member. Only for flags: other values, such as a state, are usually there from the beginning.
    private static func missingMember(_ rule: CheckedRule) -> [RuleWarning] {
        guard rule.rule.kind == .rules, rule.rule.unless == nil else { return [] }
        return rule.when.compactMap { clause in
            guard case .field(let path, let condition) = clause.selector, let excluded = condition.excludedValue,
                case .value(let value) = rule.prediction.prediction(for: path), value.bool == true,
                condition.answer(for: value, order: .collation) == false
            else { return nil }
            let unless = SelectorText().clause(.field(path, excluded))
            return rule.warning(
                at: clause.position, .missingMember,
                "\(clause.excerpt) does not hold for documents without the member, so the rule never writes it there; "
                    + "write `unless: { \(unless) }` instead, or accept this with `allow: "
                    + "[\(RuleWarning.Code.missingMember.rawValue)]`")
        }
    }

    /// The members of every tombstone. Others exist only if the deletion wrote them and the server keeps them.
    static let tombstoneMembers: Set<String> = ["_id", "_rev", "_deleted"]

    private static func tombstone(_ rule: CheckedRule) -> [RuleWarning] {
        // The format of tombstones in files depends on the program that exported them.
        guard rule.rule.on.contains(.delete), rule.rule.kind == .rules else { return [] }
        let remedy =
            "if deletions don't write it, test only _id"
            + (rule.rule.on == .delete
                ? ""
                : ", or remove "
                    + "delete from `on`")
        return (rule.when + rule.unless).compactMap { clause in
            guard let name = clause.selector.fieldNames.first(where: { !tombstoneMembers.contains($0) }) else {
                return nil
            }
            return rule.warning(
                at: clause.position, .tombstoneField,
                "a tombstone has '\(DisplayText.plain(name))' only if the deletion writes it (never on Sync Gateway "
                    + "4); \(remedy)"
            )
        }
    }
}

extension Condition {
    /// What `$ne`, `$nin` and `$not` exclude. Nil for other conditions.
    fileprivate var excludedValue: Condition? {
        switch self {
        case .compare(.notEqual, let value): .compare(.equal, value)
        case .isNotIn(let values): .isIn(values)
        case .not(let condition): condition
        default: nil
        }
    }
}

extension Selector {
    /// The members of the document that the selector tests.
    var fieldNames: [String] {
        switch self {
        case .all(let selectors), .any(let selectors), .none(let selectors): selectors.flatMap(\.fieldNames)
        case .not(let selector): selector.fieldNames
        case .field(let path, _): [String(decoding: path.steps[0].name, as: UTF8.self)]
        case .value: []
        }
    }
}
