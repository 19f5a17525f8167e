/// A JSON Patch: operations that lead from one document to another, each on what the ones before it left.
///
/// ``JSONText/applying(_:)`` carries it out, ``difference(from:to:leavingOut:)`` finds one.
///
/// - Note: Source: RFC 6902.
public struct JSONPatch: Sendable {
    /// What is done at one place. Of the texts that come with it the ``JSONText/root`` counts.
    public enum Operation: Sendable {
        /// Inserts an element, adds a member, or replaces the member that has this name.
        case add(JSONPointer, JSONText)
        case remove(JSONPointer)
        /// Replaces what must be there.
        case replace(JSONPointer, JSONText)
        /// The same as removing the value and adding it at `to`.
        case move(from: JSONPointer, to: JSONPointer)
        case copy(from: JSONPointer, to: JSONPointer)
        /// Changes nothing; fails unless there is an equivalent value.
        case test(JSONPointer, JSONText)
    }

    public let operations: [Operation]

    public init(operations: [Operation]) { self.operations = operations }

    /// The patch document: `op`, `path`, then `from` or `value`. On one line: white space between the parts of a value
    /// is left out, everything else has the bytes that it came with.
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
