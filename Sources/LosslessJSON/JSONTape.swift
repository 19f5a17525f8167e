/// One value or member name on the tape: always 16 bytes.
struct JSONNode: Sendable {
    /// First byte in the text. Strings include their quotes, containers their brackets.
    var start: UInt32
    var end: UInt32
    /// Index of the first node after this value and its contents. While a container is open, the index of its parent.
    var next: UInt32
    var kind: JSONKind
    var traits: Traits

    struct Traits: OptionSet, Sendable {
        let rawValue: UInt8

        /// A string with at least one backslash: its bytes must be unescaped.
        static let escaped = Traits(rawValue: 1)
        /// A string with bytes outside ASCII.
        static let nonASCII = Traits(rawValue: 2)
        /// A number without fraction and exponent.
        static let integer = Traits(rawValue: 4)
    }

    init(start: Int, end: Int, next: Int, kind: JSONKind, traits: Traits = []) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.end = UInt32(truncatingIfNeeded: end)
        self.next = UInt32(truncatingIfNeeded: next)
        self.kind = kind
        self.traits = traits
    }

    var range: Range<Int> { Int(start)..<Int(end) }
}

/// The values of a text as a flat list, in the order in which they begin. `next` lets a member search skip whole
/// values.
///
/// An object's node is followed by name, value, name, value …; an array's node by its elements.
public struct JSONTape: Sendable {
    var nodes: [JSONNode]

    /// - Parameter minimumCapacity: Nodes to reserve, 16 bytes each.
    public init(minimumCapacity: Int = 0) {
        nodes = []
        nodes.reserveCapacity(minimumCapacity)
    }

    /// The number of nodes on the tape. The next scanned value gets this index.
    public var count: Int { nodes.count }

    /// Empties the tape for the next text. Keeps its memory by default.
    public mutating func removeAll(keepingCapacity: Bool = true) { nodes.removeAll(keepingCapacity: keepingCapacity) }
}

// MARK: - Reading a tape while it is being written

extension JSONTape {
    /// The kind of the value at `index`.
    public func kind(of index: Int) -> JSONKind { nodes[index].kind }

    /// Whether the container at `index` is not empty.
    public func hasChildren(_ index: Int) -> Bool { Int(nodes[index].next) > index + 1 }

    /// Whether the value at `index` is this string, spelled without escapes. `bytes` is the text that was scanned.
    public func isString(_ index: Int, _ characters: StaticString, in bytes: [UInt8]) -> Bool {
        let node = nodes[index]
        guard node.kind == .string, !node.traits.contains(.escaped),
            Int(node.end - node.start) == characters.utf8CodeUnitCount + 2
        else { return false }
        for offset in 0..<characters.utf8CodeUnitCount
        where bytes[Int(node.start) + 1 + offset] != characters.utf8Start[offset] {
            return false
        }
        return true
    }

    /// Calls `body` with the indices of each member's name and value. Does nothing if there is no object at `index`.
    public func forEachMember(ofObjectAt index: Int, _ body: (_ name: Int, _ value: Int) -> Void) {
        guard nodes[index].kind == .object else { return }
        var at = index + 1
        let end = Int(nodes[index].next)
        while at < end {
            body(at, at + 1)
            at = Int(nodes[at + 1].next)
        }
    }
}
