extension JSONPatch {
    /// Reads a patch document: a list of objects with `op`, `path`, and `from` or `value`.
    ///
    /// Ignores other members. A required member that is missing, has the wrong type or appears twice is an error.
    /// Values are copied with their bytes and do not keep `json` in memory.
    ///
    /// - Throws: ``JSONPatchError/Reason/malformed(_:)`` for the first bad operation.
    /// - Note: Source: RFC 6902, sections 3 and 4.
    public init(_ json: JSONValue) throws(JSONPatchError) {
        guard json.kind == .array else {
            throw JSONPatchError(
                .malformed("a JSON Patch is a list of operations: write them between [ and ]"), at: nil)
        }
        var operations: [Operation] = []
        for (position, element) in json.elements.enumerated() {
            operations.append(try OperationReading(json: element, position: position).operation())
        }
        self.init(operations: operations)
    }
}

/// One object of a patch document.
private struct OperationReading {
    let json: JSONValue
    let position: Int

    func operation() throws(JSONPatchError) -> JSONPatch.Operation {
        guard json.kind == .object else { throw malformed(#"write an object like {"op":"remove","path":"/member"}"#) }
        guard let name = try member("op")?.string else { throw malformed("give it an 'op': \(Self.names)") }
        switch name {
        case "add": return .add(try pointer("path"), try value(of: name))
        case "remove": return .remove(try pointer("path"))
        case "replace": return .replace(try pointer("path"), try value(of: name))
        case "move": return .move(from: try pointer("from"), to: try pointer("path"))
        case "copy": return .copy(from: try pointer("from"), to: try pointer("path"))
        case "test": return .test(try pointer("path"), try value(of: name))
        default: throw malformed("there is no such 'op'; it must be \(Self.names)")
        }
    }

    private static let names = "add, remove, replace, move, copy or test"

    private func pointer(_ name: String) throws(JSONPatchError) -> JSONPointer {
        guard let member = try member(name) else {
            throw malformed(#"give it a '\#(name)', a JSON Pointer like "/address/city""#)
        }
        guard let text = member.string else {
            throw malformed(#"'\#(name)' must be a string, a JSON Pointer like "/address/city""#)
        }
        do throws(JSONPointerError) { return try JSONPointer(text) } catch { throw malformed(error.description) }
    }

    private func value(of operation: String) throws(JSONPatchError) -> JSONText {
        guard let value = try member("value") else { throw malformed("\(operation) needs a 'value' (it may be null)") }
        return value.detached()
    }

    /// Readers differ in which of two duplicate members they take, so duplicates are refused.
    private func member(_ name: String) throws(JSONPatchError) -> JSONValue? {
        let found = json.members.filter { $0.name.isString(name) }
        guard found.count < 2 else { throw malformed("it has '\(name)' twice; remove one of them") }
        return found.first?.value
    }

    private func malformed(_ what: String) -> JSONPatchError { JSONPatchError(.malformed(what), at: position) }
}
