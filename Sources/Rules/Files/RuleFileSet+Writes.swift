/// An action whose success depends on the kind of database, with its position.
package struct LocatedWrite: Sendable {
    package enum Kind: Sendable {
        /// Sets or removes the expiry of a document.
        case expiry
        /// Writes the document with this id.
        case id(String)
        /// Writes the document whose id this jq program gives.
        case computedID(program: String)
    }

    /// The path of the file as given.
    package let path: String
    package let position: SourcePosition
    /// The name of the rule.
    package let rule: String
    package let kind: Kind
}

extension RuleFileSet {
    /// The actions that set an expiry or name the id of another document of the same keyspace, in order.
    package var locatedWrites: [LocatedWrite] {
        files.flatMap(\.rules).flatMap { rule in
            rule.locatedSteps.flatMap { $0.step.action.databaseNeeds($0.element) }.map { position, kind in
                LocatedWrite(path: rule.definition.path, position: position, rule: rule.name, kind: kind)
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
