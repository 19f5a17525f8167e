/// A value within a ``JSONText``: two words, cheap to copy. Nothing is decoded until it is used.
public struct JSONValue: Sendable {
    /// The whole text, which any value in it keeps in memory.
    public let text: JSONText
    /// Index of the value's node on the text's tape.
    public let index: Int

    /// - Parameter index: Must be the node of a value or name on the tape of `text`. Not checked here.
    public init(text: JSONText, index: Int) {
        self.text = text
        self.index = index
    }

    var node: JSONNode { text.nodes[index] }

    /// Read from the tape in constant time.
    public var kind: JSONKind { node.kind }

    /// The value's position in ``JSONText/bytes``, including a string's quotes and a container's brackets.
    public var range: Range<Int> { node.range }

    /// The value's JSON, not copied, including a string's quotes.
    public var bytes: ArraySlice<UInt8> { text.bytes[range] }

    /// True, false, or nil if the value is not a boolean.
    public var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// A number without fraction or exponent that fits into `Int`. Nil for anything else.
    public var integer: Int? {
        guard kind == .number, node.traits.contains(.integer) else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self))
    }

    /// The number of members or elements; 0 if it is not a container. Counts them on each call.
    public var childCount: Int {
        switch kind {
        case .object: members.reduce(0) { count, _ in count + 1 }
        case .array: elements.reduce(0) { count, _ in count + 1 }
        default: 0
        }
    }
}

// MARK: - Containers

extension JSONValue {
    /// A member of an object.
    public struct Member: Sendable {
        /// Always a string; may have escapes.
        public let name: JSONValue
        /// A value of any kind.
        public let value: JSONValue

        /// From the name's opening quote to the end of the value.
        public var range: Range<Int> { name.range.lowerBound..<value.range.upperBound }
    }

    /// The members in the order of the text, including duplicates. Empty if this is not an object.
    public var members: Members { Members(text: text, at: index + 1, end: kind == .object ? Int(node.next) : 0) }

    /// The elements. Empty if this is not an array.
    public var elements: Elements { Elements(text: text, at: index + 1, end: kind == .array ? Int(node.next) : 0) }

    /// Iterates over name and value pairs on the tape, without allocations.
    public struct Members: Sequence, IteratorProtocol, Sendable {
        let text: JSONText
        var at: Int
        let end: Int

        /// Skips the whole value of the previous member.
        public mutating func next() -> Member? {
            guard at < end else { return nil }
            let name = JSONValue(text: text, index: at)
            let value = JSONValue(text: text, index: at + 1)
            at = Int(value.node.next)
            return Member(name: name, value: value)
        }
    }

    /// Iterates over the elements of an array on the tape, without allocations.
    public struct Elements: Sequence, IteratorProtocol, Sendable {
        let text: JSONText
        var at: Int
        let end: Int

        /// Skips the contents of the previous element.
        public mutating func next() -> JSONValue? {
            guard at < end else { return nil }
            let value = JSONValue(text: text, index: at)
            at = Int(value.node.next)
            return value
        }
    }

    /// The member with this name. The last of duplicates, as in gateways. Nil if there is none or this is not an
    /// object. Searches all members directly on the tape, without copies or allocations.
    public subscript(name: StaticString) -> JSONValue? {
        member(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// The member with this name, as for a `StaticString`.
    public subscript(name: String) -> JSONValue? {
        var name = name
        return name.withUTF8(member)
    }

    /// The member with this UTF-8 name, as for a `StaticString`.
    package func member(named name: [UInt8]) -> JSONValue? { name.withUnsafeBufferPointer(member) }

    private func member(_ name: UnsafeBufferPointer<UInt8>) -> JSONValue? {
        guard kind == .object else { return nil }
        let found = text.nodes.withUnsafeBufferPointer { nodes in
            let end = Int(nodes[index].next)
            var (at, found) = (index + 1, -1)
            while at < end {
                if JSONValue(text: text, index: at).isString(name) { found = at + 1 }
                at = Int(nodes[at + 1].next)
            }
            return found
        }
        return found < 0 ? nil : JSONValue(text: text, index: found)
    }

    /// The element at `position`, from 0. Nil if there is none or this is not an array. Steps over the previous
    /// elements.
    public func element(_ position: Int) -> JSONValue? {
        guard position >= 0 else { return nil }
        var elements = elements
        for _ in 0..<position where elements.next() == nil { return nil }
        return elements.next()
    }
}
