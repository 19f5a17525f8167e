internal import Encodings
internal import LosslessJSON

/// Finds mistakes in rules that compare documents with earlier states.
enum EdgeCheck {
    static func warnings(_ rule: CheckedRule) -> [RuleWarning] {
        guard let edges = rule.rule.edges else { return [] }
        return impossibleMembers(rule, edges) + endingOwnMatch(rule, edges) + counting(rule, edges)
            + nothingRemembered(rule, edges) + changingIDs(rule.rule, rule)
    }

    /// Members that no matching document can have: they are always missing, so they never differ.
    private static func impossibleMembers(_ rule: CheckedRule, _ edges: EdgeCondition) -> [RuleWarning] {
        guard edges.on == .change, !edges.changed.isEmpty,
            edges.changed.allSatisfy({ member in rule.when.contains { $0.excludes(member) } })
        else { return [] }
        let names = edges.changed.map { "'\(DisplayText.plain($0.text))'" }.joined(separator: ", ")
        return [
            rule.warning(
                at: rule.position(of: "changed"), .neverFires,
                "it never fires: `when` matches only documents that can't have \(names), because part of the path is not "
                    + "an object; name the member that has a value")
        ]
    }

    /// A rule with `enter` whose own actions end the match, so that the document enters again at each match.
    private static func endingOwnMatch(_ rule: CheckedRule, _ edges: EdgeCondition) -> [RuleWarning] {
        guard edges.on == .enter, rule.rule.condition == nil, !rule.prediction.edits.isEmpty else { return [] }
        var knowledge = Knowledge(firing: rule)
        knowledge.apply(rule.prediction)
        guard knowledge.fires(rule) == .no else { return [] }
        return [
            rule.warning(
                at: rule.position(of: "on"), .endsOwnMatch,
                "its own actions end the match, so a document enters each time it matches; remove 'on': the rule then does "
                    + "the same, but remembers nothing")
        ]
    }

    /// A rule that increments a member in its own `changed`, and so fires endlessly.
    private static func counting(_ rule: CheckedRule, _ edges: EdgeCondition) -> [RuleWarning] {
        let counter = ComputedMember.all(of: rule.rule).first { member in
            member.incrementsItself && edges.changed.contains { $0.overlaps(FieldPath(names: member.path)) }
        }
        guard let counter else { return [] }
        return [
            rule.warning(
                at: rule.position(of: "then"), .neverRests, RepeatedFiringCheck.endlessCounting(counter))
        ]
    }

    /// A `put` whose id contains the revision or the sequence. If a document changes after a crash, the repeated edge
    /// would create a second document.
    private static func changingIDs(_ part: Rule, _ rule: CheckedRule) -> [RuleWarning] {
        part.locatedSteps.flatMap { step -> [RuleWarning] in
            if let related = step.step.action as? RelatedAction { return changingIDs(related.rule, rule) }
            guard step.step.action is PutAction else { return [] }
            let nodes = [step.argument.member("id"), step.argument.member("document")?.member("_id")]
            return nodes.compactMap { node in
                guard let program = node?.member("jq"), let text = program.text,
                    let name = ["$change.rev", "$change.seq", "._rev"].first(where: text.contains)
                else { return nil }
                return rule.warning(
                    at: program.position, .changingID,
                    "after a crash, an edge can be repeated on another revision, and the id with \(name) would then "
                        + "create a second document; use $change.edge, which stays the same")
            }
        }
    }

    /// Programs that read values that the rule does not remember, or `$changed` without a list of members.
    private static func nothingRemembered(_ rule: CheckedRule, _ edges: EdgeCondition) -> [RuleWarning] {
        ActionCheck.programs(of: rule.rule.definition.source).flatMap { program in
            var seen: Set<String> = []
            return unknownValues(in: program.text, edges).filter { seen.insert($0).inserted }.map {
                rule.warning(at: program.position, .nothingRemembered, $0)
            }
        }
    }

    private static func unknownValues(in program: String, _ edges: EdgeCondition) -> [String] {
        var messages: [String] = []
        if edges.changed.isEmpty, !VariablePaths.of("$changed", in: program).isEmpty {
            messages.append(
                "$changed is always empty, because the rule has no 'changed'; name members there, or remove it")
        }
        let uses = VariablePaths.of("$before", in: program)
        let paths = uses.filter { !$0.isEmpty }
        if edges.on == .enter, !paths.isEmpty {
            return messages + [
                "$before has no members, because a rule whose 'on' is only enter remembers no values; write a rule with "
                    + "'changed', or remove it"
            ]
        }
        // With enter, a program may ask whether the rule sees the document for the first time: $before is null then.
        if edges.rememberedNames.isEmpty, !paths.isEmpty || !uses.isEmpty && !edges.on.contains(.enter) {
            return messages + [
                "$before has no members, because the rule remembers none; add remember: [NAME], with the members that the "
                    + "program reads"
            ]
        }
        return messages
            + paths.filter { !edges.remembers($0) }.map { path in
                let name = DisplayText.plain(FieldPath(names: path).spelling)
                let remedy = edges.on == .change ? "to 'changed' or 'remember'" : "to 'remember'"
                return
                    "$before.\(name) is always null, because '\(name)' is neither in 'changed' nor in 'remember'; add it "
                    + remedy
            }
    }
}

extension RuleFileSet {
    /// Whether any rule has `enter`.
    package var hasEnteringRules: Bool { files.flatMap(\.rules).contains { $0.on.contains(.enter) } }

    /// Warnings about rules with `enter` that don't say what to do with documents that already match.
    ///
    /// - Parameter documents: The number of documents in the database. Nil: unknown.
    package func firstLookWarnings(documents: Int?) -> [RuleWarning] {
        guard documents != 0 else { return [] }
        let database =
            documents.map { "the database has \($0.counted("document"))" } ?? "the database may have documents"
        return files.flatMap(\.rules).compactMap { rule in
            guard let edges = rule.edges, edges.on.contains(.enter), edges.first == nil,
                !rule.acceptedCodes.contains(.firstLook), let node = rule.definition.source.member("on")
            else { return nil }
            return RuleWarning(
                path: rule.definition.path, position: node.position, rule: rule.name, code: .firstLook,
                message: "\(database), and the rule also fires for those that already "
                    + "match, when it first sees them; if that is intended, write first: fire; otherwise let the rule "
                    + "learn them before the run, with 'changebot fix --learn'")
        }
    }
}

extension LocatedClause {
    /// Whether a document that matches the clause can't have the member, because a part of its path is not an object.
    fileprivate func excludes(_ member: MemberPath) -> Bool {
        guard case .field(let path, let condition) = selector, path.steps.count < member.path.steps.count,
            member.overlaps(path)
        else { return false }
        return switch condition {
        case .compare(.equal, let literal): literal.value.kind != .object
        case .type(let name): name != "object"
        case .size, .modulus, .regex, .beginsWith, .all, .anyElement, .allElements: true
        default: false
        }
    }
}
