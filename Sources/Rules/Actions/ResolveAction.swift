package import LosslessJSON

/// Merges the conflicting leaf revisions of a document into one. The changed document is the winning revision.
struct ResolveAction: Action {
    static let name = "resolve"
    static let synonyms = ["conflict", "conflicts"]
    static let isAllowedInRelated = false
    static let phase = DecisionPhase.resolving
    static let forEachError: String? =
        "'resolve' takes effect only once per document; remove 'for_each'"
    /// The other rules see the resolved document.
    static let onlyActionErrors: OnlyActionErrors? = OnlyActionErrors(
        others: "'resolve' must be the only action of its rule; move the others to another rule, which sees the "
            + "resolved document",
        time: "'resolve' settles conflicts as they arrive, not at set times; remove 'at' or 'every'",
        deletions: "'resolve' sees the winning revision, which is not deleted; remove 'on'",
        edges: "'resolve' settles each conflict once, so it can't have 'changed', 'enter' or 'leave'; remove them")

    static let keys = ["policy", "jq", "date"]
    private static let defaultDateMember = "updatedAt"

    /// One policy for all document types: the rule's conditions distinguish types.
    let policies: ConflictPolicies

    /// Reads `resolve: POLICY`, `resolve: { policy: POLICY, date: MEMBER }` or `resolve: { jq: PROGRAM }`. Nil, with
    /// errors, for anything else.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        if reading.kind == .mapping {
            errors.report(
                at: node.position, "'resolve' has no meaning in a mapping, which sees one revision at a time; remove it"
            )
            return nil
        }
        if case .string(let text) = node.content {
            self.init(text, at: node, dateMember: Self.defaultDateMember, reading)
            return
        }
        guard let object = SourceObject(node, "resolve", known: Self.keys, errors: errors) else { return nil }
        let date = object.optionalText("date") ?? Self.defaultDateMember
        switch (object.node("policy"), object.node("jq")) {
        case (let policy?, nil):
            guard let text = object.optionalText("policy") else { return nil }
            self.init(text, at: policy, dateMember: date, reading)
        case (nil, let program?):
            guard case .string(let text) = program.content else {
                errors.reportKind(of: program, "a jq program must be text", remedy: "put it in quotes")
                return nil
            }
            self.init(ConflictPolicies.programPrefix + text, at: program, dateMember: date, reading)
        default:
            errors.report(
                at: node.position,
                "resolve needs either 'policy' or 'jq'; write \(ConflictPolicy.names.joined(separator: ", "))")
            return nil
        }
    }

    private init?(_ text: String, at node: SourceNode, dateMember: String, _ reading: RuleReading) {
        let errors = reading.errors
        guard text.hasPrefix(ConflictPolicies.programPrefix) || ConflictPolicy(name: text) != nil else {
            errors.report(
                at: node.position,
                "there is no policy '\(DisplayText.plain(text))'; write \(ConflictPolicy.names.joined(separator: ", ")) "
                    + "or { jq: PROGRAM }")
            return nil
        }
        do throws(ConflictPolicyError) { policies = try ConflictPolicies([text], dateMember: dateMember) } catch {
            guard let program = error.program, program.text == node.text else {
                errors.report(at: node.position, "\(error)")
                return nil
            }
            let located = program.diagnosis.error(
                of: program.text, path: errors.path, at: node.position, in: reading.yaml)
            errors.report(at: located.position, located.message)
            return nil
        }
    }

    /// Its program runs later, over all leaves, in a separate pool.
    func apply(to draft: inout Draft, _ outputs: [[JSONText]]) {
        draft.effects.append(ResolveEffect(origin: draft.origin, policies: policies))
    }
}

/// How to resolve the conflicting leaf revisions of a document.
package struct ResolveEffect: Effect {
    package static let kind = EffectKind.resolve
    package let origin: EffectOrigin
    package let policies: ConflictPolicies

    /// Example: `resolve: merge`.
    package var title: String { "resolve: \(policies.generalName ?? "")" }

    /// The rule, as an index in ``RuleSet/names``.
    package var rule: Int { origin.rule }

    package func isDropped(for later: Effects) -> Bool { true }

    package func write(to writer: inout JSONWriter) {
        writer.member("action", string: "resolve")
        writer.member("policy", optional: policies.generalName)
    }
}
