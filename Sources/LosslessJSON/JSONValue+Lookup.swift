/// Lookups that run for every change of a feed: on the tape itself, without copies or allocations.
extension JSONValue {
    /// The member of this name; of duplicates, the last one. Nil if there is none or this is not an object.
    ///
    /// Same result as ``member(_:)``, at a fraction of the cost.
    package func member(named name: [UInt8]) -> JSONValue? {
        let tape = text.nodes
        let content = text.bytes
        let nodes = tape.span
        let bytes = content.span
        guard nodes[index].kind == .object else { return nil }
        let end = Int(nodes[index].next)
        var at = index + 1
        var found = -1
        while at < end {
            if Self.isNamed(name, nodes[at], at: at, in: text, bytes) { found = at + 1 }
            at = Int(nodes[at + 1].next)
        }
        return found < 0 ? nil : JSONValue(text: text, index: found)
    }

    @inline(__always)
    private static func isNamed(
        _ name: [UInt8], _ node: JSONNode, at index: Int, in text: JSONText, _ bytes: borrowing Span<UInt8>
    ) -> Bool {
        if node.traits.contains(.escaped) { return JSONValue(text: text, index: index).isString(name) }
        let start = Int(node.start) + 1
        guard Int(node.end) - 1 - start == name.count else { return false }
        for offset in name.indices where bytes[start + offset] != name[offset] { return false }
        return true
    }

    /// Calls `body` for each member of an object, duplicates included, in the order of the text.
    ///
    /// - Parameter body: Gets the name as spelled between its quotes, whether that has escapes, and the tape index of
    ///   the value.
    package func forEachMember(_ body: (_ name: Span<UInt8>, _ isEscaped: Bool, _ value: Int) -> Void) {
        let tape = text.nodes
        let content = text.bytes
        let nodes = tape.span
        let bytes = content.span
        guard nodes[index].kind == .object else { return }
        let end = Int(nodes[index].next)
        var at = index + 1
        while at < end {
            let name = nodes[at]
            body(
                bytes.extracting(Int(name.start) + 1..<Int(name.end) - 1), name.traits.contains(.escaped), at + 1)
            at = Int(nodes[at + 1].next)
        }
    }

    /// Calls `body` with the bytes between a string's quotes, escapes not resolved. The value must be a string.
    package func withRawContent<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let range = range
        let content = text.bytes
        return try body(content.span.extracting(range.lowerBound + 1..<range.upperBound - 1))
    }

    /// The first member name that appears twice in one object, at any depth; nil if there is none. Does not recurse.
    package var duplicateMemberName: String? {
        let end = Int(node.next)
        for at in index..<end where text.nodes[at].kind == .object {
            let members = JSONValue(text: text, index: at).members
            guard let duplicate = MemberPositions(members).firstDuplicate else { continue }
            return Array(members)[duplicate].name.string
        }
        return nil
    }
}
