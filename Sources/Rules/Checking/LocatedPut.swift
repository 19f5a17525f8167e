internal import LosslessJSON

/// A `put` with a literal document that overwrites documents in the rule's own keyspace.
struct LocatedPut {
    let position: SourcePosition
    /// Whether it removes members that its document does not name.
    let replaces: Bool
    private let id: SourceNode?
    private let document: SourceNode
    /// The changes that the `put` makes to members.
    private var prediction = RulePrediction()

    static func all(of rule: Rule) -> [LocatedPut] {
        rule.locatedSteps.filter { $0.step.action is PutAction && $0.step.elements == nil }.compactMap {
            LocatedPut($0.argument, at: $0.element.position)
        }
    }

    /// The `put`s of a rule that create a document with a longer id each time. Whether one exists does not matter.
    static func creating(of rule: Rule) -> [LocatedPut] {
        rule.locatedSteps.filter { $0.step.action is PutAction && $0.step.elements == nil }.compactMap {
            let program = $0.argument.member("id")?.member("jq")?.text
            guard let program, GrowingID.isCertain(program) else { return nil }
            return LocatedPut($0.argument, at: $0.element.position, createsDocument: true)
        }
    }

    private init?(_ put: SourceNode, at position: SourcePosition, createsDocument: Bool = false) {
        let existing = put.member("if_exists")?.text ?? PutEffect.Existing.keep.rawValue
        guard createsDocument || existing != PutEffect.Existing.keep.rawValue,
            put.member("keyspace") == nil, let document = put.member("document"), !document.isComputed
        else { return nil }
        self.position = position
        self.document = document
        id = put.member("id")
        replaces = createsDocument || existing == PutEffect.Existing.replace.rawValue
        if let id, id.text != nil { prediction.edits.append((["_id"], .set(id.jsonText))) }
        if case .object(let members) = document.content {
            for member in members { prediction.addValue(member.value, [member.name], isMerge: !replaces) }
        }
    }

    /// A member that the rule sets after such a `put` and the next `put` undoes. Nil if there is none, or if the rule
    /// may not fire.
    func memberUndone(of rule: CheckedRule) -> String? {
        guard certainlyFires(rule) else { return nil }
        let edits = rule.prediction.lastEdits.merging(rule.computedEdits) { edit, _ in edit }
        return edits.filter { isUndone($0.key, $0.value) }.keys.min { $0.lexicographicallyPrecedes($1) }
            .map { FieldPath(names: $0).spelling }
    }

    /// Whether the rule fires for every document that the `put` writes.
    func certainlyFires(_ rule: CheckedRule) -> Bool {
        let selectors = [rule.rule.when] + (rule.rule.unless.map { [$0] } ?? [])
        var effects = prediction
        if replaces {
            // The written document lacks members that the put does not name, except for the gateway's own.
            let names = Set(selectors.flatMap(\.fieldNames)).filter { !$0.begins(with: "_") }
            for name in names where document.member(name) == nil { effects.edits.append(([name], .removed)) }
        }
        var knowledge = Knowledge()
        knowledge.apply(effects)
        return knowledge.certainlyFires(rule)
    }

    /// The members of the document that a program computes.
    var computed: [ComputedMember] { ComputedMember.members(document, []) }

    /// Whether a `put` of the same form finds its id in a document that this one wrote: a replaced document lacks the
    /// other members.
    var keepsID: Bool {
        guard replaces, let id, id.isComputed else { return true }
        guard let program = id.member("jq")?.text else { return false }
        return ProgramReading(program).paths.allSatisfy { path in
            guard case .member(let name)? = path.first else { return false }
            return name == "_id" || document.member(name) != nil
        }
    }

    private func isUndone(_ path: [String], _ edit: RulePrediction.Edit) -> Bool {
        guard let first = path.first, !first.begins(with: "_") else { return false }
        switch (prediction.prediction(for: FieldPath(names: path)), edit) {
        // A replaced document has only the members that the `put` names.
        case (.unchanged, .set), (.unchanged, .unknown), (.missing, .set), (.missing, .unknown): return replaces
        case (.value(let value), .set(let wanted)): return !value.isEquivalent(to: wanted.root)
        case (.value, .removed), (.present, .removed): return true
        default: return false
        }
    }
}
