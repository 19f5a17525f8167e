/// A normalised clause of a selector, with its position in the file.
struct LocatedClause: Sendable {
    let selector: Selector
    /// The position of the operator, or of the field if the operator is omitted.
    let position: SourcePosition
    /// The whole clause: equal texts mean equal clauses.
    let text: String

    init(_ selector: Selector, at position: SourcePosition) {
        self.selector = selector
        self.position = position
        text = SelectorText(literalLimit: .max).clause(selector)
    }
}

extension LocatedClause {
    /// The clause as messages quote it.
    var excerpt: String { "`\(SelectorText().clause(selector))`" }

    /// The clauses that must all hold for a selector to hold.
    ///
    /// - Parameter node: A selector without errors.
    static func conjuncts(of node: SourceNode) -> [LocatedClause] {
        var clauses: [LocatedClause] = []
        if case .object(let members) = node.content, members.isEmpty { return [] }
        collect(node, path: "", at: node.position, into: &clauses)
        return clauses
    }

    /// Collects the parts of conjunctions; ``SelectorReader`` reads each part.
    private static func collect(
        _ node: SourceNode, path: String, at position: SourcePosition, into clauses: inout [LocatedClause]
    ) {
        guard case .object(let members) = node.content, !members.isEmpty else {
            return read(SourceNode.Member(name: path, position: position, value: node), path: "", into: &clauses)
        }
        for member in members {
            if member.name == "$and", case .list(let elements) = member.value.content {
                for element in elements { collect(element, path: path, at: member.position, into: &clauses) }
            } else if member.name.hasPrefix("$") {
                read(member, path: path, into: &clauses)
            } else {
                let path = path.isEmpty ? member.name : path + "." + member.name
                collect(member.value, path: path, at: member.position, into: &clauses)
            }
        }
    }

    private static func read(_ member: SourceNode.Member, path: String, into clauses: inout [LocatedClause]) {
        var node = SourceNode(content: .object([member]), position: member.position)
        if !path.isEmpty {
            let field = SourceNode.Member(name: path, position: member.position, value: node)
            node = SourceNode(content: .object([field]), position: member.position)
        }
        guard let selector = SelectorReader.read(node, errors: SourceErrors(path: "")) else { return }
        clauses += selector.conjuncts.map { LocatedClause($0, at: member.position) }
    }
}
