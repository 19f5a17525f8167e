/// A way from a value of a file to a part of it.
enum SourceStep: Hashable, Sendable {
    case member(String)
    case element(Int)
}

extension SourceNode {
    /// The part at a path. Nil if there is none.
    subscript(path: some Collection<SourceStep>) -> SourceNode? {
        guard let step = path.first else { return self }
        switch (step, content) {
        case (.member(let name), _): return member(name)?[path.dropFirst()]
        case (.element(let index), .list(let elements)):
            return elements.indices.contains(index) ? elements[index][path.dropFirst()] : nil
        default: return nil
        }
    }

    /// The value with another one at a path. Unchanged if there is no such part.
    func replacing(_ path: ArraySlice<SourceStep>, with node: SourceNode) -> SourceNode {
        guard let step = path.first else { return node }
        return editing(step) { [$0.with($0.value.replacing(path.dropFirst(), with: node))] }
    }

    /// The value with other members in place of the member at a path.
    func replacing(_ path: ArraySlice<SourceStep>, with members: [(name: String, value: SourceNode)]) -> SourceNode {
        guard let step = path.first else { return self }
        return editing(step) { member in
            if path.count > 1 { return [member.with(member.value.replacing(path.dropFirst(), with: members))] }
            return members.map { Member(name: $0.name, position: member.position, value: $0.value) }
        }
    }

    /// The value without the part at a path.
    ///
    /// - Parameter prunes: Whether objects and lists that become empty are removed too.
    /// - Returns: Nil if nothing is left.
    func removing(_ path: ArraySlice<SourceStep>, prunes: Bool) -> SourceNode? {
        guard let step = path.first else { return nil }
        let node = editing(step) { member in
            member.value.removing(path.dropFirst(), prunes: prunes).map { [member.with($0)] } ?? []
        }
        return prunes && node.isEmpty ? nil : node
    }

    /// The value with a member at the path, in place of an earlier one. Makes missing objects. Nil if the path leads
    /// into something else.
    func setting(_ names: ArraySlice<String>, to value: SourceNode) -> SourceNode? {
        guard let name = names.first else { return value }
        guard case .object(let members) = content else { return nil }
        let inner = member(name) ?? SourceNode(content: .object([]), position: position)
        guard let changed = inner.setting(names.dropFirst(), to: value) else { return nil }
        let member = Member(name: name, position: position, value: changed)
        let others = members.filter { $0.name != name }
        guard let index = members.firstIndex(where: { $0.name == name }) else {
            return SourceNode(content: .object(members + [member]), position: position)
        }
        return SourceNode(content: .object(others[..<index] + [member] + others[index...]), position: position)
    }

    private var isEmpty: Bool {
        switch content {
        case .object(let members): members.isEmpty
        case .list(let elements): elements.isEmpty
        default: false
        }
    }

    /// - Parameter edit: Gives what stands in place of the part. Elements of lists are passed without a name.
    private func editing(_ step: SourceStep, _ edit: (Member) -> [Member]) -> SourceNode {
        switch (step, content) {
        case (.member(let name), .object(let members)):
            let edited = members.flatMap { $0.name == name ? edit($0) : [$0] }
            return SourceNode(content: .object(edited), position: position, isPlain: isPlain)
        case (.element(let index), .list(let elements)):
            let edited = elements.enumerated().flatMap { number, element in
                number == index
                    ? edit(Member(name: "", position: element.position, value: element)).map(\.value) : [element]
            }
            return SourceNode(content: .list(edited), position: position, isPlain: isPlain)
        default: return self
        }
    }
}

extension SourceNode.Member {
    fileprivate func with(_ value: SourceNode) -> SourceNode.Member {
        SourceNode.Member(name: name, position: position, value: value, isPlain: isPlain)
    }
}
