/// Checked JSON: the bytes exactly as they came, and the tape that says what is where.
///
/// Immutable, and shared rather than copied. A text may hold several values one behind the other (the documents of a
/// batch); ``root`` is the first.
public final class JSONText: Sendable {
    public let bytes: [UInt8]
    let nodes: [JSONNode]

    /// Takes bytes together with the tape that was scanned from them.
    public init(bytes: [UInt8], tape: JSONTape) {
        self.bytes = bytes
        nodes = tape.nodes
    }

    /// Checks that `bytes` are one JSON value.
    public convenience init(_ bytes: [UInt8], limits: JSONLimits = .documents) throws(JSONFault) {
        var tape = JSONTape(minimumCapacity: 16 + bytes.count / 24)
        _ = try tape.scanDocument(bytes.span, limits: limits)
        self.init(bytes: bytes, tape: tape)
    }

    public convenience init(_ text: String, limits: JSONLimits = .documents) throws(JSONFault) {
        try self.init(Array(text.utf8), limits: limits)
    }

    /// The first value of the text.
    public var root: JSONValue { JSONValue(text: self, index: 0) }

    /// The value whose node has this index, as ``JSONTape/scanValue(in:from:limits:)`` was about to give it.
    public func value(at index: Int) -> JSONValue { JSONValue(text: self, index: index) }

    func node(_ index: Int) -> JSONNode { nodes[index] }
}

extension JSONValue {
    /// The value as a text of its own, with its bytes copied: what it came from can go. Nil never happens for a value
    /// within the default limits.
    public func copied() -> JSONText? { try? JSONText(Array(bytes)) }
}
