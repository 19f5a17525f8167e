/// Checked JSON: the bytes exactly as received, with the tape that indexes them.
///
/// Immutable, and shared rather than copied. A text may contain several consecutive values (the documents of a batch);
/// ``root`` is the first.
public final class JSONText: Sendable {
    /// UTF-8, with any white space around the values.
    public let bytes: [UInt8]
    let nodes: [JSONNode]

    /// Checks nothing: `tape` must have been scanned from these bytes.
    public init(bytes: [UInt8], tape: JSONTape) {
        self.bytes = bytes
        nodes = tape.nodes
    }

    /// Checks that `bytes` are one JSON value with only white space around it.
    ///
    /// - Throws: ``JSONError`` at the first byte that is not valid, or if a limit is exceeded.
    public convenience init(_ bytes: [UInt8], limits: JSONLimits = .documents) throws(JSONError) {
        var tape = JSONTape(minimumCapacity: 16 + bytes.count / 24)
        _ = try tape.scanDocument(bytes.span, limits: limits)
        self.init(bytes: bytes, tape: tape)
    }

    /// Like ``init(_:limits:)`` with the UTF-8 of `text`. Offsets in errors count bytes.
    public convenience init(_ text: String, limits: JSONLimits = .documents) throws(JSONError) {
        try self.init(Array(text.utf8), limits: limits)
    }

    /// The first value of the text.
    public var root: JSONValue { JSONValue(text: self, index: 0) }

    /// The value whose node has this index: ``JSONTape/count`` before the value was scanned.
    public func value(at index: Int) -> JSONValue { JSONValue(text: self, index: index) }

    func node(_ index: Int) -> JSONNode { nodes[index] }
}

extension JSONValue {
    /// The value as a separate text, copied and scanned again, so that it does not keep the larger text in memory. Nil
    /// only if it exceeds the default limits.
    public func copied() -> JSONText? { try? JSONText(Array(bytes)) }
}
