internal import LosslessJSON

/// A YAML file as JSON, for readers that only accept JSON but report positions in the file.
package struct LocatedJSON: Sendable {
    /// The file as checked JSON, in one line.
    package let text: [UInt8]
    /// The positions in the file of values and member names, by their offsets in ``text``.
    private var places: [Int: SourcePosition] = [:]

    /// - Parameters:
    ///   - bytes: The content of the file.
    ///   - path: For errors.
    ///   - beginning: What to do about an empty file, for its error.
    /// - Throws: ``RuleFilesError`` if the file is not YAML, or contains what JSON can't.
    package init(yaml bytes: [UInt8], path: String, beginning: String = "write an object in it") throws(RuleFilesError)
    {
        let errors = SourceErrors(path: path)
        guard let file = String(validating: bytes, as: UTF8.self) else {
            errors.report(at: nil, "invalid UTF-8; save the file as UTF-8")
            throw RuleFilesError(kind: .invalid, errors: errors.errors)
        }
        guard let node = YAMLSource.read(file, errors: errors, beginning: beginning), errors.errors.isEmpty else {
            throw RuleFilesError(kind: .invalid, errors: errors.errors)
        }
        let json = node.jsonText
        text = json.bytes
        place(json.root, node)
    }

    /// The position in the file of the value or name at an offset of ``text``. Nil if none begins there.
    package func position(at offset: Int) -> SourcePosition? { places[offset] }

    /// Recurses as deep as ``SourceNode/depthLimit`` allows.
    private mutating func place(_ value: JSONValue, _ node: SourceNode) {
        places[value.range.lowerBound] = node.position
        switch node.content {
        case .list(let elements):
            for (value, element) in zip(value.elements, elements) { place(value, element) }
        case .object(let members):
            for (value, member) in zip(value.members, members) {
                places[value.name.range.lowerBound] = member.position
                place(value.value, member.value)
            }
        default: break
        }
    }
}
