/// A value within a ``JSONText``: two words, copied freely, nothing decoded until it is asked for.
public struct JSONValue: Sendable {
    public let text: JSONText
    /// Index of the value's node on the tape.
    public let index: Int

    public init(text: JSONText, index: Int) {
        self.text = text
        self.index = index
    }

    var node: JSONNode { text.nodes[index] }

    public var kind: JSONKind { node.kind }

    /// Where the value stands in ``JSONText/bytes``; strings with their quotes, containers with their brackets.
    public var range: Range<Int> { node.range }

    /// The value's own text, without a copy.
    public var bytes: ArraySlice<UInt8> { text.bytes[range] }

    /// True, false, or nil if the value is not a boolean.
    public var bool: Bool? {
        switch kind {
        case .true: true
        case .false: false
        default: nil
        }
    }

    /// The value of a number without fraction and exponent that fits; nil for everything else.
    public var integer: Int? {
        guard kind == .number, node.traits.contains(.integer) else { return nil }
        return Int(String(decoding: bytes, as: UTF8.self))
    }

    /// How many members or elements the value has; 0 for what is not a container.
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
    /// A member of an object. `name` is a value of kind string.
    public struct Member: Sendable {
        public let name: JSONValue
        public let value: JSONValue

        /// From the name's opening quote to the end of the value.
        public var range: Range<Int> { name.range.lowerBound..<value.range.upperBound }
    }

    /// The members in the order of the text, duplicates included; none if this is not an object.
    public var members: Members { Members(text: text, at: index + 1, end: kind == .object ? Int(node.next) : 0) }

    /// The elements; none if this is not an array.
    public var elements: Elements { Elements(text: text, at: index + 1, end: kind == .array ? Int(node.next) : 0) }

    public struct Members: Sequence, IteratorProtocol, Sendable {
        let text: JSONText
        var at: Int
        let end: Int

        public mutating func next() -> Member? {
            guard at < end else { return nil }
            let name = JSONValue(text: text, index: at)
            let value = JSONValue(text: text, index: at + 1)
            at = Int(value.node.next)
            return Member(name: name, value: value)
        }
    }

    public struct Elements: Sequence, IteratorProtocol, Sendable {
        let text: JSONText
        var at: Int
        let end: Int

        public mutating func next() -> JSONValue? {
            guard at < end else { return nil }
            let value = JSONValue(text: text, index: at)
            at = Int(value.node.next)
            return value
        }
    }

    /// The member of this name. Of duplicates the last one, as gateways decide. Nil if there is none.
    public func member(_ name: some Collection<UInt8>) -> JSONValue? {
        var found: JSONValue?
        for member in members where member.name.isString(name) { found = member.value }
        return found
    }

    public subscript(name: StaticString) -> JSONValue? {
        member(UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
    }

    public subscript(name: String) -> JSONValue? { member(name.utf8) }

    /// The element at `position`, or nil.
    public func element(_ position: Int) -> JSONValue? {
        guard position >= 0 else { return nil }
        var elements = elements
        for _ in 0..<position where elements.next() == nil { return nil }
        return elements.next()
    }
}
