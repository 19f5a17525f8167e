/// An action whose success depends on the kind of database, and where it is.
package struct PlacedWrite: Sendable {
    package enum Kind: Sendable {
        /// Sets or removes the expiry of a document.
        case expiry
        /// Writes the document with this id.
        case id(String)
        /// Writes the document whose id this jq program gives.
        case computedID(program: String)
    }

    /// The file as it was given.
    package let path: String
    package let position: SourcePosition
    /// The name of the rule.
    package let rule: String
    package let kind: Kind
}

extension RuleFileSet {
    /// The actions that set an expiry or name the id of another document of the same keyspace, in order.
    package var placedWrites: [PlacedWrite] {
        files.flatMap(\.rules).flatMap { rule in
            rule.placedSteps.flatMap { $0.step.action.databaseNeeds($0.element) }.map { position, kind in
                PlacedWrite(path: rule.path, position: position, rule: rule.name, kind: kind)
            }
        }
    }
}

extension PlacedWrite.Kind {
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
