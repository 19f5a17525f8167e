internal import LosslessJSON

/// Finds a likely mistake when a field is missing.
enum PathHint {
    /// The maximum number of members whose names are compared.
    private static let countLimit = 200
    /// The maximum number of bytes of a name that may be mistyped.
    private static let lengthLimit = 64

    /// A hint for a path that ends at an object without such a member.
    static func missing(_ path: FieldPath, for condition: Condition, in document: JSONValue) -> String? {
        let (stepCount, object) = reach(path, in: document)
        let pathPrefix = path.steps.prefix(stepCount).map { String(decoding: $0.name, as: UTF8.self) }
        if stepCount < path.steps.count, let name = similarName(Array(path.steps[stepCount...]), in: object) {
            return "the document has '\(DisplayText.plain((pathPrefix + [name]).joined(separator: ".")))'"
        }
        switch condition {
        case .compare(.notEqual, _), .isNotIn, .not: return "a negated condition also needs the field to exist"
        default: return nil
        }
    }

    /// A hint for a path that leads into a value without members, or outside a list.
    static func noSuchPlace(_ path: FieldPath, in document: JSONValue) -> String {
        let (stepCount, value) = reach(path, in: document)
        let pathPrefix = DisplayText.plain(
            path.steps.prefix(stepCount).map { String(decoding: $0.name, as: UTF8.self) }.joined(separator: "."))
        let place = pathPrefix.isEmpty ? "the value" : "'\(pathPrefix)'"
        switch value.kind {
        case .array: return "\(place) is a list of \(value.childCount); positions count from 0"
        case .object, .null, .false, .true, .number, .string: return "\(place) is \(kindName(value)) and has no members"
        }
    }

    /// How many steps of the path exist, and the value that they lead to.
    private static func reach(_ path: FieldPath, in document: JSONValue) -> (stepCount: Int, value: JSONValue) {
        var value = document
        for (count, step) in path.steps.enumerated() {
            let next = value.kind == .array ? step.position.flatMap(value.element) : value.member(named: step.name)
            guard let next else { return (count, value) }
            value = next
        }
        return (path.steps.count, value)
    }

    /// A similar name of a member, for the first step or for all steps joined.
    private static func similarName(_ steps: [FieldPath.Step], in object: JSONValue) -> String? {
        let wanted = String(decoding: steps[0].name, as: UTF8.self)
        let names = object.members.prefix(countLimit).compactMap { member in
            member.name.range.count <= lengthLimit + 2 ? member.name.string : nil
        }
        let joined = steps.map { String(decoding: $0.name, as: UTF8.self) }.joined(separator: ".")
        if steps.count > 1, names.contains(joined) { return joined.split(separator: ".").joined(separator: "\\.") }
        let folded = wanted.trimmed.lowercased()
        if let name = names.first(where: { $0.trimmed.lowercased() == folded }) { return name }
        guard folded.count > 2 else { return nil }
        // Names with different first letters are probably unrelated: createdAt, updatedAt.
        return NearestName.of(wanted, among: names.filter { $0.lowercased().first == folded.first })
    }

    private static func kindName(_ value: JSONValue) -> String {
        switch value.kind {
        case .null: "null"
        case .false, .true: "true or false"
        case .number: "a number"
        case .string: "text"
        case .array: "a list"
        case .object: "an object"
        }
    }
}
