package import LosslessJSON

/// Encodes `Codable` types as ``DocumentDecoder`` reads them.
///
/// A `Date` is written in UTC with milliseconds, rounded.
package struct DocumentEncoder {
    /// The last known content of the document, for ``DocumentPart``.
    package var document: JSONValue?

    /// Creates an encoder for a new document.
    package init() {}

    /// Recurses as deep as the value does.
    ///
    /// - Returns: The members in the order of the type's properties, and the parts that the value has.
    /// - Throws: `EncodingError` for a value that JSON can't hold, such as infinity; what `encode(to:)` of a type throws.
    package func encode(_ value: some Encodable) throws -> (json: JSONText, parts: [EncodedPart]) {
        let context = EncodingContext(document: document)
        let node = EncodedNode()
        try ValueWriter(node: node, path: [], context: context).write(value)
        var writer = JSONWriter()
        node.write(to: &writer)
        return (try JSONText(writer.bytes), context.parts)
    }
}

/// The state that all encoders of one document share.
final class EncodingContext {
    let document: JSONValue?
    var parts: [EncodedPart] = []

    init(document: JSONValue?) { self.document = document }
}

/// A value that is being encoded. Its containers may be filled in any order.
final class EncodedNode {
    private enum Content {
        /// Nothing yet. A type that encodes nothing is an object without members.
        case nothing
        case json([UInt8])
        case object([(name: String, node: EncodedNode)])
        case array([EncodedNode])
    }

    private var content = Content.nothing

    func set(_ json: some Sequence<UInt8>) { content = .json(Array(json)) }

    func becomeObject() {
        if case .object = content { return }
        content = .object([])
    }

    func becomeArray() {
        if case .array = content { return }
        content = .array([])
    }

    /// How many elements a list has so far.
    var count: Int { if case .array(let elements) = content { elements.count } else { 0 } }

    /// The node of a member; a member that is encoded twice keeps the last value.
    func member(_ name: String) -> EncodedNode {
        guard case .object(var members) = content else {
            becomeObject()
            return member(name)
        }
        if let known = members.first(where: { $0.name.utf8.elementsEqual(name.utf8) }) { return known.node }
        let node = EncodedNode()
        content = .nothing
        members.append((name, node))
        content = .object(members)
        return node
    }

    /// Removes a member. A part that is not a member leaves none.
    func removeMember(_ name: String) {
        guard case .object(let members) = content else { return }
        content = .object(members.filter { $0.name != name })
    }

    func appendElement() -> EncodedNode {
        guard case .array(var elements) = content else {
            becomeArray()
            return appendElement()
        }
        let node = EncodedNode()
        content = .nothing
        elements.append(node)
        content = .array(elements)
        return node
    }

    func write(to writer: inout JSONWriter) {
        switch content {
        case .nothing: writer.object { _ in }
        case .json(let json): writer.raw(json)
        case .object(let members):
            writer.object { writer in
                for (name, node) in members {
                    writer.name(name)
                    node.write(to: &writer)
                }
            }
        case .array(let elements):
            writer.array { writer in for element in elements { element.write(to: &writer) } }
        }
    }
}
