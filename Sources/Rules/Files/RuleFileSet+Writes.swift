/// An action whose success depends on the kind of database, with its position.
package struct LocatedWrite: Sendable {
    package enum Kind: Sendable {
        /// Sets or removes the expiry of a document.
        case expiry
        /// Writes the document with this id.
        case id(String)
        /// Writes the document whose id this jq program gives.
        case computedID(program: String)
        /// Writes to this other keyspace.
        case keyspace(String)
    }

    /// The path of the file as given.
    package let path: String
    package let position: SourcePosition
    /// The name of the rule.
    package let rule: String
    package let kind: Kind
    /// Whether the rule belongs to a mapping.
    package let isOfMapping: Bool
    /// The warnings that the rule accepts.
    let allowed: Set<RuleWarning.Code>

    /// A warning about it. Nil if the rule accepts it.
    package func warning(_ code: RuleWarning.Code, _ message: String) -> RuleWarning? {
        allowed.contains(code)
            ? nil : RuleWarning(path: path, position: position, rule: rule, code: code, message: message)
    }
}

extension Rule {
    /// The warnings that the rule accepts.
    var acceptedCodes: Set<RuleWarning.Code> { Set(definition.allow.map(\.code)) }
}

extension RuleFileSet {
    /// The actions that set an expiry, name the id of another document of the same keyspace, or name another keyspace, in
    /// order.
    package var locatedWrites: [LocatedWrite] {
        files.flatMap(\.rules).flatMap { rule in
            rule.locatedSteps.flatMap { $0.step.action.databaseNeeds($0.element) }.map { position, kind in
                LocatedWrite(
                    path: rule.definition.path, position: position, rule: rule.name, kind: kind,
                    isOfMapping: rule.kind == .mapping, allowed: rule.acceptedCodes)
            }
        }
    }
}

extension LocatedWrite.Kind {
    /// Nil if it is neither text nor a program.
    init?(id node: SourceNode) {
        if let text = node.text {
            self = .id(text)
        } else if node.isComputed, let program = node.member("jq")?.text {
            self = .computedID(program: program)
        } else {
            return nil
        }
    }
}
