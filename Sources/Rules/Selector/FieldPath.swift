internal import LosslessJSON

/// The path to a field: `taskList.owner`, `items.0`, `weird\.key`.
///
/// - Note: Source: CouchDB 3.5 `mango_util:parse_field`, `mango_doc:get_field`.
struct FieldPath: Hashable, Sendable {
    struct Step: Hashable, Sendable {
        let name: [UInt8]
        /// The array index that the step may denote. Nil if it can't be an index.
        let position: Int?
    }

    enum Lookup {
        case found(JSONValue)
        /// An object on the path has no such member.
        case missing
        /// The path leads into a value without members, or outside an array. No condition holds then, not even
        /// `$exists: false`.
        case bad
    }

    let steps: [Step]
    /// Whether this is exactly `_id`, which CouchDB compares by bytes.
    let isID: Bool

    /// Nil if a part of the path is empty (`a..b`, `.a`, `a.`).
    ///
    /// Dots separate the parts, except after a backslash; then all backslashes are removed.
    init?(_ text: String) {
        var parts: [[UInt8]] = [[]]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "."), parts[parts.count - 1].last != UInt8(ascii: "\\") {
                parts.append([])
            } else {
                parts[parts.count - 1].append(byte)
            }
        }
        guard !parts.contains([]) else { return nil }
        isID = text == "_id"
        steps = parts.map { part in
            let name = part.filter { $0 != UInt8(ascii: "\\") }
            // Erlang's list_to_integer also reads "+1" and "01", as Int does.
            return Step(name: name, position: Int(String(decoding: name, as: UTF8.self)))
        }
    }

    func lookUp(in value: JSONValue) -> Lookup {
        var value = value
        for step in steps {
            switch value.kind {
            case .object:
                guard let member = value.member(named: step.name) else { return .missing }
                value = member
            case .array:
                guard let position = step.position, let element = value.element(position) else { return .bad }
                value = element
            default: return .bad
            }
        }
        return .found(value)
    }
}
