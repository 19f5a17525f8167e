internal import LosslessJSON

/// Finds `put`s that each time remove what another rule does to the same documents.
struct UndoneEffects {
    private let rules: [CheckedRule]

    /// - Parameter rules: Without those that never fire.
    init(_ rules: [CheckedRule]) { self.rules = rules.filter { $0.rule.kind == .rules } }

    /// At most one for each `put`, at its action.
    var warnings: [RuleWarning] {
        let victims = rules.filter { $0.rule.on.contains(.change) && $0.rule.condition == nil && !$0.outlook.deletes }
        return rules.flatMap { rule in
            PlacedPut.all(of: rule.rule).compactMap { put in
                for victim in victims {
                    if let name = put.memberUndone(of: victim) { return Self.warning(rule, put, victim, name) }
                }
                return nil
            }
        }
    }

    private static func warning(
        _ rule: CheckedRule, _ put: PlacedPut, _ victim: CheckedRule, _ name: String
    ) -> RuleWarning {
        let name = DisplayText.plain(name)
        let what = "each put undoes what \(victim.reference) does to '\(name)' of these documents; "
        let remedy =
            put.replaces
            ? "write if_exists: merge, or put '\(name)' into the document"
            : "remove '\(name)' from one of the two"
        return rule.warning(
            at: put.position, .undoneEffect,
            what + remedy + "; if it is meant, accept this with `allow: [\(RuleWarning.Code.undoneEffect.rawValue)]`")
    }
}

/// A `put` that overwrites documents in the rule's own keyspace, and whose document is written out.
private struct PlacedPut {
    let position: SourcePosition
    /// Whether members that the document does not name are removed.
    let replaces: Bool
    private let document: SourceNode
    /// The changes that the `put` makes to members.
    private var outlook = RuleOutlook()

    static func all(of rule: Rule) -> [PlacedPut] {
        guard case .list(let actions)? = rule.source.member("then")?.content else { return [] }
        return actions.compactMap { action in action.member("put").flatMap { PlacedPut($0, at: action.position) } }
    }

    private init?(_ put: SourceNode, at position: SourcePosition) {
        guard let existing = put.member("if_exists")?.text, existing != PutEffect.Existing.keep.rawValue,
            put.member("keyspace") == nil, let document = put.member("document"), !document.isComputed
        else { return nil }
        self.position = position
        self.document = document
        replaces = existing == PutEffect.Existing.replace.rawValue
        if let id = put.member("id"), id.text != nil { outlook.touched.append((["_id"], .set(id.jsonText))) }
        if case .object(let members) = document.content {
            for member in members { outlook.addValue(member.value, [member.name], isMerge: !replaces) }
        }
    }

    /// A member that the rule sets after such a `put` and the next `put` undoes; nil if there is none, or the rule may
    /// not fire.
    func memberUndone(of victim: CheckedRule) -> String? {
        let selectors = [victim.rule.when] + (victim.rule.unless.map { [$0] } ?? [])
        var effects = outlook
        if replaces {
            // Members that the document does not name are missing, except for the gateway's own.
            let names = Set(selectors.flatMap(\.fieldNames)).filter { !$0.begins(with: "_") }
            for name in names where document.member(name) == nil { effects.touched.append(([name], .removed)) }
        }
        var knowledge = Knowledge()
        knowledge.apply(effects)
        guard knowledge.certainlyFires(victim) else { return nil }
        let touches = victim.outlook.lastTouches.merging(victim.computedTouches) { touch, _ in touch }
        return touches.filter { isUndone($0.key, $0.value) }.keys.min { $0.lexicographicallyPrecedes($1) }
            .map { FieldPath(names: $0).spelling }
    }

    private func isUndone(_ path: [String], _ touch: RuleOutlook.Touch) -> Bool {
        guard let first = path.first, !first.begins(with: "_") else { return false }
        switch (outlook.outlook(for: FieldPath(names: path)), touch) {
        // A replaced document has only what the `put` names.
        case (.untouched, .set), (.untouched, .unknown), (.missing, .set), (.missing, .unknown): return replaces
        case (.value(let value), .set(let wanted)): return !value.isEquivalent(to: wanted.root)
        case (.value, .removed), (.present, .removed): return true
        default: return false
        }
    }
}

extension CheckedRule {
    /// Members that a merge consisting of one program sets: `merge: { jq: "{ createdAt: ($now | todate) }" }`.
    fileprivate var computedTouches: [[String]: RuleOutlook.Touch] {
        guard case .list(let actions)? = rule.source.member("then")?.content else { return [:] }
        var touches: [[String]: RuleOutlook.Touch] = [:]
        for action in actions {
            guard let patch = action.member("merge"), patch.isComputed, let program = patch.member("jq")?.text else {
                continue
            }
            for name in ConstructedObject.names(program) { touches[[name]] = .unknown }
        }
        return touches
    }
}
