internal import LosslessJSON

/// What the JSON Schema of rule files says about one value: all schemas that may apply to it.
///
/// Knows the keywords that this schema uses.
struct SchemaView: Sendable {
    /// Those nearer to the value's name come first.
    private(set) var schemas: [JSONValue] = []
    /// Whether the value is not allowed here.
    private(set) var isRefused = false

    private let root: JSONValue
    private let isMapping: Bool

    /// The whole file.
    ///
    /// - Parameter isMapping: Whether the file has `kind: mapping`.
    init(file schema: JSONText, isMapping: Bool) {
        root = schema.root
        self.isMapping = isMapping
        add(root, depth: 0)
    }

    private init(_ root: JSONValue, isMapping: Bool) { (self.root, self.isMapping) = (root, isMapping) }

    private mutating func add(_ schema: JSONValue, depth: Int) {
        guard depth < 16 else { return }
        guard schema.kind == .object else {
            if schema.kind == .false { isRefused = true }
            return
        }
        guard !schemas.contains(where: { $0.index == schema.index }) else { return }
        schemas.append(schema)
        if let target = schema["$ref"]?.string.flatMap(definition) { add(target, depth: depth + 1) }
        for keyword in ["allOf", "anyOf", "oneOf"] {
            for alternative in schema[keyword]?.elements ?? JSONValue.none { add(alternative, depth: depth + 1) }
        }
        if schema.index == root.index {
            if let branch = schema[isMapping ? "then" : "else"] { add(branch, depth: depth + 1) }
        } else {
            for keyword in ["then", "else"] { if let branch = schema[keyword] { add(branch, depth: depth + 1) } }
        }
    }

    private func definition(_ reference: String) -> JSONValue? {
        guard let name = reference.split(separator: "/").last else { return nil }
        return root["definitions"]?[String(name)]
    }

    // MARK: - Values within

    /// What is known of a value within.
    func at(_ path: [OutlineStep]) -> SchemaView { path.reduce(self) { $0.at($1) } }

    func at(_ step: OutlineStep) -> SchemaView {
        var view = SchemaView(root, isMapping: isMapping)
        for schema in schemas {
            switch step {
            case .member(let name): view.addMember(name, of: schema)
            case .element(let index):
                guard let items = schema["items"] else { continue }
                if items.kind == .array {
                    if let item = items.element(index) { view.add(item, depth: 0) }
                } else {
                    view.add(items, depth: 0)
                }
            }
        }
        return view
    }

    private mutating func addMember(_ name: String, of schema: JSONValue) {
        var isKnown = false
        if let property = schema["properties"]?[name] {
            isKnown = true
            add(property, depth: 0)
        }
        for pattern in schema["patternProperties"]?.members ?? JSONValue.noMembers
        where Self.matches(name, pattern.name.string ?? "") {
            isKnown = true
            add(pattern.value, depth: 0)
        }
        if !isKnown, let other = schema["additionalProperties"], other.kind == .object { add(other, depth: 0) }
    }

    /// Whether a name matches one of the schema's three patterns of names.
    private static func matches(_ name: String, _ pattern: String) -> Bool {
        switch pattern {
        case "^_": name.hasPrefix("_")
        case "^_(?!id$)": name.hasPrefix("_") && name != "_id"
        default: !name.hasPrefix("$") && !name.isEmpty
        }
    }

    // MARK: - What it says

    /// The names of members that the schema lists, in its order.
    var memberNames: [String] {
        var names: [String] = []
        for schema in schemas {
            for member in schema["properties"]?.members ?? JSONValue.noMembers {
                guard let name = member.name.string, !names.contains(name), !at(.member(name)).isRefused else {
                    continue
                }
                names.append(name)
            }
        }
        return names
    }

    /// The first text of a keyword.
    func text(_ keyword: String) -> String? { schemas.lazy.compactMap { $0[keyword]?.string }.first }

    func has(_ keyword: String) -> Bool { schemas.contains { $0[keyword] != nil } }

    /// Whether the value can be of this type.
    func allows(_ type: String) -> Bool {
        schemas.contains { schema in
            switch schema["type"] {
            case let types? where types.kind == .array: types.elements.contains { $0.string == type }
            case let name?: name.string == type
            case nil: false
            }
        }
    }

    /// The values that it lists, as JSON, each with its description.
    var values: [(value: JSONValue, description: String?)] {
        schemas.flatMap { schema in
            let descriptions = schema["enumDescriptions"]
            let listed = (schema["enum"]?.elements ?? JSONValue.none).enumerated().map { index, value in
                (value: value, description: descriptions?.element(index)?.string)
            }
            return listed + (schema["const"].map { [(value: $0, description: nil)] } ?? [])
        }
    }

    /// Values that it suggests, as JSON.
    var examples: [JSONValue] {
        schemas.flatMap { schema in
            (schema["default"].map { [$0] } ?? []) + Array(schema["examples"]?.elements ?? JSONValue.none)
        }
    }

    var snippets: [JSONValue] {
        schemas.flatMap { Array($0["defaultSnippets"]?.elements ?? JSONValue.none) }
    }

    /// The title and the description, as Markdown. Empty if it has neither.
    var documentation: String {
        var parts: [String] = []
        if let title = text("title") { parts.append("**\(title)**") }
        if let description = text("description") { parts.append(description) }
        return parts.joined(separator: "\n\n")
    }
}

extension JSONValue {
    private static let empty = JSONText(checked: "[]")

    /// No elements.
    fileprivate static var none: Elements { empty.root.elements }
    /// No members.
    fileprivate static var noMembers: Members { empty.root.members }
}

extension JSONText {
    /// For JSON that is certainly valid.
    fileprivate convenience init(checked text: String) {
        do { try self.init(text) } catch { preconditionFailure("\(error)") }
    }
}
