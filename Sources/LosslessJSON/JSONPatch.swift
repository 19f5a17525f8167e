/// A JSON Patch: a list of operations, each applied to the result of the previous one.
///
/// ``JSONText/applying(_:)`` applies a patch, ``difference(from:to:leavingOut:numbersAsWritten:)`` computes one.
///
/// - Note: Source: RFC 6902.
public struct JSONPatch: Sendable {
    /// One change at one place. The value is the ``JSONText/root`` of its text.
    public enum Operation: Sendable {
        /// Inserts an element, adds a member, or replaces the member of this name.
        case add(JSONPointer, JSONText)
        case remove(JSONPointer)
        /// Replaces a value. Fails if there is none.
        case replace(JSONPointer, JSONText)
        /// Removes the value at `from` and adds it at `to`.
        case move(from: JSONPointer, to: JSONPointer)
        case copy(from: JSONPointer, to: JSONPointer)
        /// Changes nothing. Fails unless this place has an equivalent value.
        case test(JSONPointer, JSONText)
    }

    /// In order of application.
    public let operations: [Operation]

    /// An empty list is valid and changes nothing.
    public init(operations: [Operation]) { self.operations = operations }

    /// The patch document on one line, with members in the order `op`, `path`, then `from` or `value`. Values keep
    /// their bytes, except for white space between tokens.
    public var json: [UInt8] {
        var writer = JSONWriter()
        writer.array { writer in
            for operation in operations { operation.write(to: &writer) }
        }
        return writer.bytes
    }
}

extension JSONPatch.Operation {
    fileprivate func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .add(let path, let value): Self.write("add", path, value, to: &writer)
            case .replace(let path, let value): Self.write("replace", path, value, to: &writer)
            case .test(let path, let value): Self.write("test", path, value, to: &writer)
            case .remove(let path): Self.write("remove", path, to: &writer)
            case .move(let origin, let path): Self.write("move", path, from: origin, to: &writer)
            case .copy(let origin, let path): Self.write("copy", path, from: origin, to: &writer)
            }
        }
    }

    private static func write(_ name: String, _ path: JSONPointer, to writer: inout JSONWriter) {
        writer.member("op", string: name)
        writer.member("path", string: path.description)
    }

    private static func write(_ name: String, _ path: JSONPointer, _ value: JSONText, to writer: inout JSONWriter) {
        write(name, path, to: &writer)
        writer.member("value", raw: value.root.compactBytes)
    }

    private static func write(
        _ name: String, _ path: JSONPointer, from origin: JSONPointer, to writer: inout JSONWriter
    ) {
        write(name, path, to: &writer)
        writer.member("from", string: origin.description)
    }
}
