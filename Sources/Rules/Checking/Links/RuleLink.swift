/// What a rule certainly does to other documents by `related` or `aggregate` when it fires.
struct RuleLink {
    /// How a member of the other document changes.
    enum MemberChange {
        /// Each time, computed from its old value.
        case counts
        /// To this value. A change only if the previous one was undone.
        case set(RulePrediction.Edit)
        /// Copied from this member of the changed document.
        case copies([String])
        /// To a value that changes whenever this member of the changed document does.
        case derives([String])
    }

    /// The index of the rule.
    let rule: Int
    let position: SourcePosition
    /// The clauses that hold for the other documents before the change.
    let clauses: [LocatedClause]
    /// The changes to the other documents.
    let effects: RulePrediction
    let memberChanges: [(path: [String], memberChange: MemberChange)]
    /// Members of the other document that equal members of the changed one.
    let equalities: [RelatedPattern.Pair]
    /// The equalities that decide which documents are selected.
    let conditions: [RelatedPattern.Pair]
    /// Whether the other document is a totals document, which the rule creates instead of finding.
    let isTotalsDocument: Bool

    /// The links of a rule that can be read from its `then`.
    static func all(of rule: CheckedRule, _ index: Int) -> [RuleLink] {
        rule.rule.locatedSteps.filter { $0.step.elements == nil }
            .compactMap { $0.step.action.link($0.element, rule: index) }
    }

    init?(_ action: RelatedAction, _ element: SourceNode, _ index: Int) {
        let prediction = RulePrediction(of: action.rule)
        guard !prediction.deletes, !prediction.isGuarded, !prediction.mayEditEverything,
            let pattern = element.member("related")?.member("selector").flatMap(RelatedPattern.init)
        else { return nil }
        rule = index
        position = element.position
        clauses = pattern.clauses
        effects = prediction
        (equalities, conditions) = (pattern.pairs, pattern.pairs)
        isTotalsDocument = false
        let computed = ComputedMember.all(of: action.rule).compactMap { member in
            member.memberChange.map { (member.path, $0) }
        }
        memberChanges = computed + prediction.lastEdits.map { ($0.key, .set($0.value)) }
        // The selection must not depend on the changes.
        guard equalities.allSatisfy({ !prediction.mayChange($0.target) }) else { return nil }
    }

    /// A count stays the same while the document does, so only sums grow.
    init?(aggregate: SourceNode, _ element: SourceNode, _ index: Int) {
        guard let into = aggregate.member("into") else { return nil }
        func members(_ key: String) -> [SourceNode.Member] { aggregate.member(key)?.objectMembers ?? [] }
        let sums = members("sum")
        rule = index
        position = element.position
        var prediction = RulePrediction()
        for member in members("document") { prediction.addValue(member.value, [member.name], isMerge: true) }
        for total in sums + members("count") {
            prediction.edits.append(([total.name], .unknown))
        }
        effects = prediction
        memberChanges = sums.compactMap { sum in
            sum.value.member("jq")?.text.flatMap(CounterProgram.path(ofValue:)).map { ([sum.name], .derives($0)) }
        }
        if into.text != nil {
            conditions = []
        } else {
            guard let source = into.member("jq")?.text.flatMap({ CounterProgram.path($0.trimmed) }) else { return nil }
            conditions = [RelatedPattern.Pair(target: ["_id"], source: source)]
        }
        clauses = []
        isTotalsDocument = true
        equalities =
            conditions
            + members("document").compactMap { member in
                member.value.member("jq")?.text.flatMap { CounterProgram.path($0.trimmed) }
                    .map { RelatedPattern.Pair(target: [member.name], source: $0) }
            }
    }
}

extension RuleLink {
    /// Whether the rule fires for each document that this link changed, and leaves the link's conditions true.
    func leads(to next: CheckedRule) -> Bool {
        var knowledge = Knowledge(holding: clauses)
        knowledge.apply(effects)
        guard knowledge.certainlyFires(next) else { return false }
        knowledge.apply(next.prediction)
        return knowledge.certainlyHolds(clauses) && equalities.allSatisfy { !next.prediction.mayChange($0.target) }
    }

    /// Whether this link, and the rule that it leads to, leave the members unchanged by which the next link finds its
    /// documents. A totals document gets the same members each time.
    func keeps(_ next: RuleLink, of rule: CheckedRule) -> Bool {
        next.equalities.allSatisfy { pair in
            let isOverwritten = isTotalsDocument && equalities.contains { $0.target == pair.source }
            return !rule.prediction.mayChange(pair.source) && (isOverwritten || !effects.mayChange(pair.source))
        }
    }
}

extension RulePrediction {
    /// Whether the rule may change the member.
    fileprivate func mayChange(_ path: [String]) -> Bool { mayChange(.field(FieldPath(names: path), .exists(true))) }
}

extension ComputedMember {
    /// How the member changes when the rule edits a related document.
    fileprivate var memberChange: RuleLink.MemberChange? {
        if incrementsItself { return .counts }
        guard let source = sourceProgram else { return nil }
        if let path = CounterProgram.path(source.trimmed) { return .copies(path) }
        return CounterProgram(source).map { .derives($0.path) }
    }
}
