/// The position of each name among the members of one object.
struct MemberPositions {
    /// Most objects are small, and names usually differ in length. Up to this number of members, comparing names is
    /// faster than hashing them.
    private static let comparedMembers = 16

    private let text: JSONText
    /// The nodes of the names, in order. Each is followed by the node of its value.
    private var names: [Int] = []
    /// For objects with more members: the last position of each name.
    private var lastPositions: [ArraySlice<UInt8>: Int] = [:]

    /// Empty if this is not an object.
    init(_ object: JSONValue) {
        text = object.text
        guard object.kind == .object else { return }
        let end = Int(object.node.next)
        var at = object.index + 1
        while at < end {
            names.append(at)
            at = Int(text.nodes[at + 1].next)
        }
        guard names.count > Self.comparedMembers else { return }
        lastPositions.reserveCapacity(names.count)
        for position in indices { lastPositions[self[position].name.characters] = position }
    }

    var indices: Range<Int> { names.indices }

    subscript(position: Int) -> JSONValue.Member {
        let name = names[position]
        return JSONValue.Member(name: text.value(at: name), value: text.value(at: name + 1))
    }

    /// The position of the last member with this name. Nil if there is none.
    func position(of name: ArraySlice<UInt8>) -> Int? {
        guard names.count <= Self.comparedMembers else { return lastPositions[name] }
        return name.withUnsafeBufferPointer { name in names.lastIndex { text.value(at: $0).isString(name) } }
    }

    /// The first member that repeats an earlier name. Nil if there is none.
    var firstDuplicate: Int? {
        guard names.count > Self.comparedMembers else {
            return indices.first { position in names[..<position].contains { areEqual($0, names[position]) } }
        }
        guard lastPositions.count < names.count else { return nil }
        var seen: Set<ArraySlice<UInt8>> = []
        return names.firstIndex { !seen.insert(text.value(at: $0).characters).inserted }
    }

    /// Whether two nodes are the same name.
    private func areEqual(_ left: Int, _ right: Int) -> Bool {
        let nodes = (text.nodes[left], text.nodes[right])
        let isEscaped = nodes.0.traits.contains(.escaped) || nodes.1.traits.contains(.escaped)
        guard isEscaped || nodes.0.range.count == nodes.1.range.count else { return false }
        return text.value(at: left).characters.elementsEqual(text.value(at: right).characters)
    }
}
