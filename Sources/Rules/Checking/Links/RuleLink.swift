/// What a rule certainly does to other documents when it fires, by `related` or `aggregate`.
struct RuleLink {
    /// How a member of the other document changes.
    enum Motion {
        /// Each time, from its old value.
        case counts
        /// To this. That is a change only if something has undone the one before.
        case set(RuleOutlook.Touch)
        /// To the value of this member of the changed document.
        case copies([String])
        /// To a value that differs whenever this member of the changed document does.
        case derives([String])
    }

    /// The index of the rule.
    let rule: Int
    let position: SourcePosition
    /// What holds for the other documents before the change.
    let clauses: [LocatedClause]
    /// What is done to them.
    let effects: RuleOutlook
    let motions: [(path: [String], motion: Motion)]
    /// Members of the other document that equal members of the changed one.
    let equalities: [RelatedPattern.Pair]
    /// Those of them that decide which documents are meant.
    let conditions: [RelatedPattern.Pair]
    /// Whether the other document is one that the rule makes, and not one that it finds.
    let isTotal: Bool

    /// The links of a rule that `then` writes out.
    static func all(of rule: CheckedRule, _ index: Int) -> [RuleLink] {
        rule.rule.placedSteps.filter { $0.step.elements == nil }
            .compactMap { $0.step.action.link($0.element, rule: index) }
    }

    init?(_ action: RelatedAction, _ element: SourceNode, _ index: Int) {
        let outlook = RuleOutlook(of: action.rule)
        guard !outlook.deletes, !outlook.isGuarded, !outlook.touchesEverything,
            let pattern = element.member("related")?.member("selector").flatMap(RelatedPattern.init)
        else { return nil }
        rule = index
        position = element.position
        clauses = pattern.clauses
        effects = outlook
        (equalities, conditions) = (pattern.pairs, pattern.pairs)
        isTotal = false
        let computed = ComputedMember.all(of: action.rule).compactMap { member in
            member.motion.map { (member.path, $0) }
        }
        motions = computed + outlook.lastTouches.map { ($0.key, .set($0.value)) }
        // What it finds must not depend on what it does.
        guard equalities.allSatisfy({ !outlook.touches($0.target) }) else { return nil }
    }

    /// Counts stay the same while the document does. Only sums grow.
    init?(aggregate: SourceNode, _ element: SourceNode, _ index: Int) {
        guard let into = aggregate.member("into") else { return nil }
        func members(_ key: String) -> [SourceNode.Member] { aggregate.member(key)?.objectMembers ?? [] }
        let sums = members("sum")
        rule = index
        position = element.position
        var outlook = RuleOutlook()
        for member in members("document") { outlook.addValue(member.value, [member.name], isMerge: true) }
        for total in sums + members("count") {
            outlook.touched.append(([total.name], .unknown))
        }
        effects = outlook
        motions = sums.compactMap { sum in
            sum.value.member("jq")?.text.flatMap(CounterProgram.path(ofValue:)).map { ([sum.name], .derives($0)) }
        }
        if into.text != nil {
            conditions = []
        } else {
            guard let source = into.member("jq")?.text.flatMap({ CounterProgram.path($0.trimmed) }) else { return nil }
            conditions = [RelatedPattern.Pair(target: ["_id"], source: source)]
        }
        clauses = []
        isTotal = true
        equalities =
            conditions
            + members("document").compactMap { member in
                member.value.member("jq")?.text.flatMap { CounterProgram.path($0.trimmed) }
                    .map { RelatedPattern.Pair(target: [member.name], source: $0) }
            }
    }
}

extension RuleLink {
    /// Whether the rule fires for each document that this link has changed, and leaves it so that the link holds again.
    func leads(to next: CheckedRule) -> Bool {
        var knowledge = Knowledge(holding: clauses)
        knowledge.apply(effects)
        guard knowledge.certainlyFires(next) else { return false }
        knowledge.apply(next.outlook)
        return knowledge.certainlyHolds(clauses) && equalities.allSatisfy { !next.outlook.touches($0.target) }
    }

    /// Whether this link, and the rule that it leads to, leave alone by what the next link finds its documents. A total
    /// gets the same members each time.
    func keeps(_ next: RuleLink, of rule: CheckedRule) -> Bool {
        next.equalities.allSatisfy { pair in
            let isSetAnew = isTotal && equalities.contains { $0.target == pair.source }
            return !rule.outlook.touches(pair.source) && (isSetAnew || !effects.touches(pair.source))
        }
    }
}

extension RuleOutlook {
    /// Whether the member may differ afterwards.
    fileprivate func touches(_ path: [String]) -> Bool { touches(.field(FieldPath(names: path), .exists(true))) }
}

extension ComputedMember {
    /// How the member moves if this is done to a related document.
    fileprivate var motion: RuleLink.Motion? {
        if countsItself { return .counts }
        guard let source = sourceProgram else { return nil }
        if let path = CounterProgram.path(source.trimmed) { return .copies(path) }
        return CounterProgram(source).map { .derives($0.path) }
    }
}
