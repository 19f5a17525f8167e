package import LosslessJSON

/// Makes one revision of a document with conflicting leaf revisions, the changed document being the winner.
struct ResolveAction: Sendable {
    private static let keys = ["policy", "jq", "date"]
    private static let defaultDateMember = "updatedAt"

    /// One policy, whatever the document's type: the rule's conditions tell types apart.
    let policies: ConflictPolicies

    /// Reads `resolve: POLICY`, `resolve: { policy: POLICY, date: MEMBER }` or `resolve: { jq: PROGRAM }`; nil, with
    /// errors, if it is none of them.
    init?(_ node: SourceNode, _ reading: RuleReading) {
        let errors = reading.errors
        if reading.kind == .mapping {
            errors.report(
                at: node.position, "'resolve' has no meaning in a mapping, which sees one revision at a time; remove it"
            )
            return nil
        }
        if case .string(let text) = node.content {
            self.init(text, at: node, dateMember: Self.defaultDateMember, errors)
            return
        }
        guard let object = SourceObject(node, "resolve", known: Self.keys, errors: errors) else { return nil }
        let date = object.optionalText("date") ?? Self.defaultDateMember
        switch (object.node("policy"), object.node("jq")) {
        case (let policy?, nil):
            guard let text = object.optionalText("policy") else { return nil }
            self.init(text, at: policy, dateMember: date, errors)
        case (nil, let program?):
            guard case .string(let text) = program.content else {
                errors.reportKind(of: program, "a jq program must be text", remedy: "put it in quotes")
                return nil
            }
            self.init(ConflictPolicies.programPrefix + text, at: program, dateMember: date, errors)
        default:
            errors.report(
                at: node.position,
                "resolve needs 'policy' or 'jq', one of them; write \(ConflictPolicy.names.joined(separator: ", "))")
            return nil
        }
    }

    private init?(_ text: String, at node: SourceNode, dateMember: String, _ errors: SourceErrors) {
        guard text.hasPrefix(ConflictPolicies.programPrefix) || ConflictPolicy(name: text) != nil else {
            errors.report(
                at: node.position,
                "there is no policy '\(DisplayText.plain(text))'; write \(ConflictPolicy.names.joined(separator: ", ")) "
                    + "or { jq: PROGRAM }")
            return nil
        }
        do throws(ConflictPolicyError) { policies = try ConflictPolicies([text], dateMember: dateMember) } catch {
            errors.report(at: node.position, "\(error)")
            return nil
        }
    }

    func apply(to draft: inout Draft) {
        draft.effects.append(ResolveEffect(origin: draft.origin, policies: policies))
    }
}

/// What is to be done about the conflicting leaf revisions of a document.
package struct ResolveEffect: Effect {
    package static let kind = EffectKind.resolve
    package let origin: EffectOrigin
    package let policies: ConflictPolicies

    /// Such as `resolve: merge`.
    package var title: String { "resolve: \(policies.generalName ?? "")" }

    /// The rule, as an index in ``RuleSet/names``.
    package var rule: Int { origin.rule }

    package func isDropped(for later: Effects) -> Bool { true }

    package func write(to writer: inout JSONWriter) {
        writer.member("action", string: "resolve")
        writer.member("policy", optional: policies.generalName)
    }
}
