import LosslessJSON

/// A document as a plain tree, with which texts and edits are compared. Numbers are stored as text.
indirect enum Model: Equatable {
    case null
    case bool(Bool)
    case number(String)
    case string(String)
    case array([Model])
    case object([Member])

    struct Member: Equatable {
        var name: String
        var value: Model
    }

    /// Read through the public members and elements of a scanned value.
    init(_ value: JSONValue) {
        switch value.kind {
        case .null: self = .null
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .number: self = .number(String(decoding: value.bytes, as: UTF8.self))
        case .string: self = .string(value.string ?? "no string")
        case .array: self = .array(value.elements.map { Model($0) })
        case .object:
            self = .object(value.members.map { Member(name: $0.name.string ?? "", value: Model($0.value)) })
        }
    }

    /// RFC 7396, section 2, member for member.
    func merged(with patch: Model) -> Model {
        guard case .object(let changes) = patch else { return patch }
        var members: [Member] = if case .object(let own) = self { own } else { [] }
        for change in changes {
            let position = members.firstIndex { $0.name == change.name }
            if change.value == .null {
                if let position { members.remove(at: position) }
            } else if let position {
                members[position].value = members[position].value.merged(with: change.value)
            } else {
                members.append(Member(name: change.name, value: Model.null.merged(with: change.value)))
            }
        }
        return .object(members)
    }

    /// The document as json-c would copy it: unordered members, and clamped numbers.
    var small: SmallJSON {
        switch self {
        case .null: .null
        case .bool(let value): .bool(value)
        case .number(let text): .number(text == "-0" ? "0" : text)
        case .string(let value): .string(value)
        case .array(let elements): .array(elements.map(\.small))
        case .object(let members):
            .object(Dictionary(members.map { ($0.name, $0.value.small) }, uniquingKeysWith: { $1 }))
        }
    }
}
