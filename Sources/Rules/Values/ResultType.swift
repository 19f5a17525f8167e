internal import LosslessJSON

/// The permitted types of a program's result: `type: number`, or `type: [string, "null"]`.
///
/// - Note: Source: JSON Schema 2020-12, Validation, 6.1.1: an integer is a number without a fraction, such as 2 and
///   2.0.
struct ResultType: Sendable {
    private enum Name: String, CaseIterable {
        case array, boolean, integer, null, number, object, string

        /// For messages.
        var text: String {
            switch self {
            case .array: "a list"
            case .boolean: "true or false"
            case .integer: "an integer"
            case .null: "null"
            case .number: "a number"
            case .object: "an object"
            case .string: "text"
            }
        }

        func includes(_ value: JSONValue) -> Bool {
            self == .integer ? value.isWhole : value.kind.name == rawValue
        }
    }

    private let names: [Name]

    /// Nil, with errors, if the node is neither the name of a type nor a list of names.
    init?(_ node: SourceNode, _ errors: SourceErrors) {
        let elements: [SourceNode]
        if case .list(let list) = node.content { elements = list } else { elements = [node] }
        let names = elements.compactMap(Self.name)
        guard !names.isEmpty, names.count == elements.count else {
            let wrong = elements.first { Self.name($0) == nil }
            let known = Name.allCases.map(\.rawValue).joined(separator: ", ")
            errors.report(
                at: wrong?.position ?? node.position,
                "'type' next to 'jq' must be a JSON type, or a list of them; write one of \(known)")
            return nil
        }
        self.names = names
    }

    /// Accepts `null` without quotes.
    private static func name(_ node: SourceNode) -> Name? {
        switch node.content {
        case .string(let text): Name(rawValue: text)
        case .null: .null
        default: nil
        }
    }

    /// Whether one of the types is permitted where a text is required.
    var allowsText: Bool { names.contains(.string) }

    func accepts(_ value: JSONValue) -> Bool { names.contains { $0.includes(value) } }

    /// How a program can give a permitted type instead of this value. Follows a message; empty if it is not clear.
    func remedy(for value: JSONText) -> String {
        if names.contains(.number) || names.contains(.integer) { return value.numberRemedy }
        return allowsText ? value.textRemedy : ""
    }

    /// For messages: `a number or null`.
    var text: String { names.map(\.text).joined(separator: " or ") }
}

extension JSONValue {
    /// Whether it is a number without a fraction.
    fileprivate var isWhole: Bool {
        guard kind == .number, let number = Double(String(decoding: bytes, as: UTF8.self)) else { return false }
        return number.isFinite && number.rounded() == number
    }
}
