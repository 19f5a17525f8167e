/// Where among the members of one object each name stands.
struct MemberPositions {
    /// Most objects are small, and names mostly differ in length: up to this many members, comparing them is faster than
    /// hashing them.
    private static let comparedMembers = 16

    private let names: [ArraySlice<UInt8>]
    /// Of objects with more members: the last position of each name.
    private let lastPositions: [ArraySlice<UInt8>: Int]

    init(_ members: some Sequence<JSONValue.Member>) {
        names = members.map { $0.name.characters }
        var lastPositions: [ArraySlice<UInt8>: Int] = [:]
        if names.count > Self.comparedMembers {
            lastPositions.reserveCapacity(names.count)
            for (position, name) in names.enumerated() { lastPositions[name] = position }
        }
        self.lastPositions = lastPositions
    }

    /// Of duplicates the last one. Nil if no member has this name.
    subscript(name: ArraySlice<UInt8>) -> Int? {
        guard names.count <= Self.comparedMembers else { return lastPositions[name] }
        return names.lastIndex { Self.areEqual($0, name) }
    }

    /// The first member whose name an earlier one has; nil if there is none.
    var firstDuplicate: Int? {
        guard names.count > Self.comparedMembers else {
            return names.indices.first { position in
                names[..<position].contains { Self.areEqual($0, names[position]) }
            }
        }
        guard lastPositions.count < names.count else { return nil }
        var seen: Set<ArraySlice<UInt8>> = []
        return names.firstIndex { !seen.insert($0).inserted }
    }

    private static func areEqual(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        left.count == right.count && left.elementsEqual(right)
    }
}
