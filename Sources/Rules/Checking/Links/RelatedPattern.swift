/// What a selector of related documents requires, before any document is known.
struct RelatedPattern {
    /// A member of the related document that equals a member of the changed one.
    struct Pair {
        let target: [String]
        let source: [String]
    }

    /// The clauses that hold for each document found.
    private(set) var clauses: [LocatedClause] = []
    private(set) var pairs: [Pair] = []

    /// Nil if a computed value is compared by anything but equality, or is not just a member: the result is
    /// unpredictable then.
    init?(_ selector: SourceNode) {
        guard add(selector, path: "") else { return nil }
    }

    /// False if the result is unpredictable. Recurses as deep as a rule file may be nested.
    private mutating func add(_ node: SourceNode, path: String) -> Bool {
        guard node.hasComputedParts else {
            clauses += LocatedClause.conjuncts(of: node.below(path))
            return true
        }
        if node.isComputed { return addPair(node, path) }
        guard case .object(let members) = node.content else { return false }
        return members.allSatisfy { member in
            switch member.name {
            case "$eq": return add(member.value, path: path)
            case "$and":
                guard path.isEmpty, case .list(let elements) = member.value.content else { return false }
                return elements.allSatisfy { add($0, path: "") }
            case let name where name.hasPrefix("$"):
                guard !member.value.hasComputedParts else { return false }
                return add(SourceNode(content: .object([member]), position: member.position), path: path)
            default: return add(member.value, path: path.isEmpty ? member.name : path + "." + member.name)
            }
        }
    }

    private mutating func addPair(_ node: SourceNode, _ path: String) -> Bool {
        guard let program = node.member("jq")?.text, let source = CounterProgram.path(program.trimmed),
            let field = FieldPath(path)
        else { return false }
        pairs.append(Pair(target: field.names, source: source))
        // The member equals a value, so it exists.
        clauses.append(LocatedClause(.field(field, .exists(true)), at: node.position))
        return true
    }
}

extension FieldPath {
    /// The names of the members on the path to the field.
    fileprivate var names: [String] { steps.map { String(decoding: $0.name, as: UTF8.self) } }
}

extension SourceNode {
    /// The node as the value of a field. Unchanged if the path is empty.
    fileprivate func below(_ path: String) -> SourceNode {
        guard !path.isEmpty else { return self }
        return SourceNode(content: .object([Member(name: path, position: position, value: self)]), position: position)
    }
}
