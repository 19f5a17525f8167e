/// All parts of a selector, at any depth, as written in the file.
struct SelectorOutline {
    /// An operator with its argument, including the implicit `$eq`.
    struct Leaf {
        let operatorName: String
        let argument: SourceNode
        /// The position of the operator, or of the field if the operator is omitted.
        let position: SourcePosition
        /// The names of all members of its object.
        let siblings: [String]
    }

    private(set) var leaves: [Leaf] = []
    /// Field names as written: paths, or parts of paths.
    private(set) var names: [SourceNode.Member] = []

    /// - Parameter node: A selector without errors.
    init(_ node: SourceNode) {
        if case .object(let members) = node.content { add(members) }
    }

    private mutating func add(_ members: [SourceNode.Member]) {
        let names = members.map(\.name)
        for member in members { add(member, siblings: names) }
    }

    private mutating func add(_ member: SourceNode.Member, siblings: [String]) {
        switch member.name {
        case "$and", "$or", "$nor":
            if case .list(let elements) = member.value.content {
                for element in elements { addValue(element, at: member.position) }
            }
        case "$not", "$elemMatch", "$allMatch", "$keyMapMatch": addValue(member.value, at: member.position)
        case let name where name.hasPrefix("$"):
            leaves.append(
                Leaf(operatorName: name, argument: member.value, position: member.position, siblings: siblings))
        default:
            names.append(member)
            addValue(member.value, at: member.position)
        }
    }

    private mutating func addValue(_ node: SourceNode, at position: SourcePosition) {
        if case .object(let members) = node.content, !members.isEmpty {
            add(members)
        } else {
            leaves.append(Leaf(operatorName: "$eq", argument: node, position: position, siblings: []))
        }
    }
}
