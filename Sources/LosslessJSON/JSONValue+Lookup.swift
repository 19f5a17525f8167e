/// Lookups that run for every change of a feed: directly on the tape, without copies or allocations.
extension JSONValue {
    /// Calls `body` for each member of an object, including duplicates, in the order of the text.
    ///
    /// - Parameter body: Receives the name as spelled between its quotes, whether that has escapes, and the tape index
    ///   of the value.
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

    /// Calls `body` with the bytes between a string's quotes, with escapes unresolved. The value must be a string.
    package func withRawContent<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let range = range
        let content = text.bytes
        return try body(content.span.extracting(range.lowerBound + 1..<range.upperBound - 1))
    }

    /// The first member name that appears twice in one object, at any depth. Nil if there is none. Does not recurse.
    package var duplicateMemberName: String? {
        let end = Int(node.next)
        for at in index..<end where text.nodes[at].kind == .object {
            let members = MemberPositions(JSONValue(text: text, index: at))
            guard let duplicate = members.firstDuplicate else { continue }
            return members[duplicate].name.string
        }
        return nil
    }
}
