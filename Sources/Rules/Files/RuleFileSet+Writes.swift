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
            PlacedWrite.kinds(of: rule.source.member("then"), rule.then.map(\.action)).map { position, kind in
                PlacedWrite(path: rule.path, position: position, rule: rule.name, kind: kind)
            }
        }
    }
}

extension PlacedWrite {
    fileprivate static func kinds(
        of list: SourceNode?, _ actions: [Action]
    ) -> [(position: SourcePosition, kind: Kind)] {
        guard case .list(let elements)? = list?.content else { return [] }
        return zip(elements, actions).flatMap { element, action in
            let argument = element.member(action.name)
            let kinds: [Kind]
            switch action {
            case .expire: kinds = [.expiry]
            case .aggregate: kinds = [argument?.member("into")].compactMap { $0.flatMap(Kind.init(id:)) }
            case .put(let put) where put.keyspace == nil:
                let document = argument?.member("document")
                let isComputed = document?.isComputed == true
                let node = argument?.member("id") ?? (isComputed ? document : document?.member("_id"))
                kinds = [node].compactMap { $0.flatMap(Kind.init(id:)) }
            case .related(let related):
                return Self.kinds(of: argument?.member("then"), related.rule.then.map(\.action))
            case .attach, .detach, .merge, .patch, .delete, .put, .emit, .webhook, .resolve: kinds = []
            }
            return kinds.map { (element.position, $0) }
        }
    }
}

extension PlacedWrite.Kind {
    /// Nil if it is neither text nor a program.
    fileprivate init?(id node: SourceNode) {
        if let text = node.text {
            self = .id(text)
        } else if node.isComputed, let program = node.member("jq")?.text {
            self = .computedID(program: program)
        } else {
            return nil
        }
    }
}
