internal import LosslessJSON

/// Finds rules that conflict with each other.
struct RuleComparison {
    private let rules: [CheckedRule]
    /// For each rule, what is known about a document for which it fires, before and after it has fired.
    private let before: [Knowledge]
    private let after: [Knowledge]

    /// - Parameter rules: All rules in their order of evaluation, except those that never fire.
    init(_ rules: [CheckedRule]) {
        self.rules = rules
        before = rules.map(Knowledge.init(firing:))
        after = zip(before, rules).map { knowledge, rule in
            var knowledge = knowledge
            knowledge.apply(rule.prediction)
            return knowledge
        }
    }

    /// A duplicate rule gets no other warning.
    var warnings: [RuleWarning] {
        let duplicates = duplicates
        let names = Set(duplicates.map(\.rule))
        let undoingPairs = undoingPairs
        let longerLoops = RuleLoops(rules, after: after).warnings.filter { loop in
            !undoingPairs.contains { $0.rule == loop.rule }
        }
        let others = UndoneEffects(rules).warnings + PutLoops(rules).warnings + LinkLoops(rules).warnings
        return duplicates + (shadowed + undoingPairs + longerLoops + others).filter { !names.contains($0.rule) }
    }

    // MARK: - Duplicates

    private var duplicates: [RuleWarning] {
        var first: [[String]: CheckedRule] = [:]
        return rules.compactMap { rule in
            let key = rule.meaning
            guard let other = first[key] else {
                first[key] = rule
                return nil
            }
            return rule.warning(
                at: rule.rule.position, .duplicateRule,
                "it is a duplicate of \(other.reference); remove one of the two")
        }
    }

    // MARK: - Rules that come too late

    private var shadowed: [RuleWarning] {
        rules.indices.compactMap { index in
            for earlier in 0..<index {
                if let warning = shadow(of: earlier, on: index) { return warning }
            }
            return nil
        }
    }

    private func shadow(of earlier: Int, on index: Int) -> RuleWarning? {
        let (other, rule) = (rules[earlier], rules[index])
        if other.rule.phase == .resolving || rule.rule.phase == .resolving {
            return shadowOfConflicts(earlier, on: index)
        }
        let prediction = other.prediction
        guard prediction.deletes || rule.when.contains(where: { prediction.mayChange($0.selector) }),
            other.dependsOnSelectorsAlone, other.rule.on.isSuperset(of: rule.rule.on),
            before[index].certainlyFires(other)
        else { return nil }
        // A rule between the two may make the later one true.
        let isChangedBetween = rules[earlier + 1..<index].contains { between in
            let selectors = [rule.rule.when] + (rule.rule.unless.map { [$0] } ?? [])
            return selectors.contains { between.prediction.mayChange($0, isRefuted: true) }
        }
        guard !isChangedBetween else { return nil }
        if prediction.deletes {
            return rule.warning(
                at: rule.rule.position, .neverFires,
                "it never fires: \(other.reference) comes first and deletes all its documents; move it up")
        }
        var after = before[index]
        after.apply(prediction)
        guard after.fires(rule) == .no else { return nil }
        return rule.warning(
            at: rule.rule.position, .neverFires,
            "it never fires: \(other.reference) comes first and changes the document so that its selectors no longer "
                + "hold; move it up, or combine the two"
        )
    }

    /// Rules with `resolve` run before all others, and only one of them fires.
    private func shadowOfConflicts(_ earlier: Int, on index: Int) -> RuleWarning? {
        let (other, rule) = (rules[earlier], rules[index])
        guard other.rule.phase == .resolving, rule.rule.phase == .resolving, other.dependsOnSelectorsAlone,
            before[index].certainlyFires(other)
        else { return nil }
        return rule.warning(
            at: rule.rule.position, .neverFires,
            "it never fires: \(other.reference) comes first and resolves the conflicts of all its documents; move it "
                + "up")
    }

    // MARK: - Loops of two

    private var undoingPairs: [RuleWarning] {
        var setters: [[String]: [Int]] = [:]
        var warnings: [RuleWarning] = []
        for (index, rule) in rules.enumerated() where rule.mayRepeat {
            var otherRule: (index: Int, name: String)?
            for (path, edit) in rule.prediction.lastEdits.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
                let others = setters[path] ?? []
                if otherRule == nil, let other = others.first(where: { isLoop(index, $0, at: path, edit) }) {
                    otherRule = (other, FieldPath(names: path).spelling)
                }
                setters[path, default: []].append(index)
            }
            guard let otherRule else { continue }
            let place = DisplayText.plain(otherRule.name)
            warnings.append(
                rule.warning(
                    at: rule.position(of: "then"), .ruleLoop,
                    "it and \(rules[otherRule.index].reference) undo each other at '\(place)' in an endless rule "
                        + "loop; make one of the two exclude the other's documents"))
        }
        return warnings
    }

    private func isLoop(_ index: Int, _ other: Int, at path: [String], _ edit: RulePrediction.Edit) -> Bool {
        guard let earlierEdit = rules[other].prediction.lastEdits[path], edit.undoes(earlierEdit) else {
            return false
        }
        return firesAgain(index, after: other) || firesAgain(other, after: index)
    }

    /// Whether the first rule makes the second fire, which makes the first fire again.
    private func firesAgain(_ first: Int, after second: Int) -> Bool {
        var state = after[first]
        guard state.certainlyFires(rules[second]) else { return false }
        state.apply(rules[second].prediction)
        return state.certainlyFires(rules[first])
    }
}

extension CheckedRule {
    /// Equal for rules with the same conditions and actions.
    fileprivate var meaning: [String] {
        let parts = ["at", "if", "then"].map { key in
            rule.definition.source.member(key).map { String(decoding: $0.json, as: UTF8.self) } ?? ""
        }
        let exception = rule.unless == nil ? ["always"] : unless.map(\.text).sorted()
        return ["\(rule.on.rawValue)"] + parts + when.map(\.text).sorted() + ["unless"] + exception
    }
}

extension RulePrediction {
    /// The last change of each member.
    var lastEdits: [[String]: Edit] {
        Dictionary(edits.map { ($0.path, $0.edit) }) { _, last in last }
    }
}

extension RulePrediction.Edit {
    func undoes(_ other: RulePrediction.Edit) -> Bool {
        switch (self, other) {
        case (.set(let value), .set(let otherValue)): !value.root.isEquivalent(to: otherValue.root)
        case (.set, .removed), (.removed, .set), (.attached, .removed), (.removed, .attached): true
        default: false
        }
    }
}
