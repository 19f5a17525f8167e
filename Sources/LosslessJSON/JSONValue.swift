/// A value within a ``JSONText``: two words, cheap to copy; nothing is decoded until asked for.
public struct JSONValue: Sendable {
    /// Kept in memory, whole, by every value in it.
    public let text: JSONText
    /// Index of the value's node on the text's tape.
    public let index: Int

    /// - Parameter index: Must be the node of a value or name on the tape of `text`; not checked here.
    public init(text: JSONText, index: Int) {
        self.text = text
        self.index = index
    }

    var node: JSONNode { text.nodes[index] }

    /// Read from the tape: costs nothing, whatever the size of the value.
    public var kind: JSONKind { node.kind }

    /// The value's place in ``JSONText/bytes``; includes a string's quotes and a container's brackets.
    public var range: Range<Int> { node.range }

    /// The value's JSON, not copied; includes a string's quotes.
    public var bytes: ArraySlice<UInt8> { text.bytes[range] }

    /// True, false, or nil if the value is not a boolean.
    public var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// A number without fraction or exponent that fits into `Int`; nil for anything else.
    public var integer: Int? {
        guard kind == .number, node.traits.contains(.integer) else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self))
    }

    /// How many members or elements the value has; 0 if it is not a container. Counts them on each call.
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
        /// Always of kind string; may have escapes.
        public let name: JSONValue
        /// May be of any kind.
        public let value: JSONValue

        /// From the name's opening quote to the end of the value.
        public var range: Range<Int> { name.range.lowerBound..<value.range.upperBound }
    }

    /// The members in the order of the text, duplicates included; none if this is not an object.
    public var members: Members { Members(text: text, at: index + 1, end: kind == .object ? Int(node.next) : 0) }

    /// The elements; none if this is not an array.
    public var elements: Elements { Elements(text: text, at: index + 1, end: kind == .array ? Int(node.next) : 0) }

    /// Iterates over name and value pairs on the tape, without allocations.
    public struct Members: Sequence, IteratorProtocol, Sendable {
        let text: JSONText
        var at: Int
        let end: Int

        /// Skips the whole value of the member before.
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

        /// Skips everything inside the element before.
        public mutating func next() -> JSONValue? {
            guard at < end else { return nil }
            let value = JSONValue(text: text, index: at)
            at = Int(value.node.next)
            return value
        }
    }

    /// The member of this name; of duplicates, the last one, as in gateways. Nil if there is none or this is not an
    /// object. Looks at all members, on the tape itself, without copies or allocations.
    public subscript(name: StaticString) -> JSONValue? {
        member(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    /// The member of this name, as for a `StaticString`.
    public subscript(name: String) -> JSONValue? {
        var name = name
        return name.withUTF8(member)
    }

    /// The member of this name in UTF-8, as for a `StaticString`.
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

    /// The element at `position`, from 0; nil if there is none or this is not an array. Steps over the ones before it.
    public func element(_ position: Int) -> JSONValue? {
        guard position >= 0 else { return nil }
        var elements = elements
        for _ in 0..<position where elements.next() == nil { return nil }
        return elements.next()
    }
}
