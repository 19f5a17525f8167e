internal import FoundationEssentials

/// A value in a table of the state.
package enum StateValue: Sendable, Equatable {
    case null
    case int(Int)
    case text(String)
    case bytes([UInt8])
}

/// A value for a `?` in a statement.
package protocol StateArgument {
    var stateValue: StateValue { get }
}

/// A type that a column can be read as.
protocol StateColumn {
    /// Nil if the value is of another kind.
    init?(_ value: StateValue)
}

extension Int: StateArgument, StateColumn {
    package var stateValue: StateValue { .int(self) }

    init?(_ value: StateValue) {
        guard case .int(let number) = value else { return nil }
        self = number
    }
}

extension Bool: StateArgument, StateColumn {
    /// 0 or 1.
    package var stateValue: StateValue { .int(self ? 1 : 0) }

    init?(_ value: StateValue) {
        guard case .int(let number) = value else { return nil }
        self = number != 0
    }
}

extension String: StateArgument, StateColumn {
    package var stateValue: StateValue { .text(self) }

    init?(_ value: StateValue) {
        guard case .text(let text) = value else { return nil }
        self = text
    }
}

extension [UInt8]: StateArgument, StateColumn {
    package var stateValue: StateValue { .bytes(self) }

    init?(_ value: StateValue) {
        guard case .bytes(let bytes) = value else { return nil }
        self = bytes
    }
}

extension Optional: StateArgument where Wrapped: StateArgument {
    /// Without a value: `.null`.
    package var stateValue: StateValue { map(\.stateValue) ?? .null }
}

extension Optional: StateColumn where Wrapped: StateColumn {
    init?(_ value: StateValue) {
        if value == .null {
            self = .none
        } else if let wrapped = Wrapped(value) {
            self = wrapped
        } else {
            return nil
        }
    }
}

/// A string that is stored as its UTF-8 bytes, because in SQLite and PostgreSQL a text ends at U+0000, which ids may
/// contain.
struct TextAsBytes: StateArgument, StateColumn {
    let text: String

    init(_ text: String) { self.text = text }

    init?(_ text: String?) {
        guard let text else { return nil }
        self.text = text
    }

    var stateValue: StateValue { .bytes(Array(text.utf8)) }

    init?(_ value: StateValue) {
        guard case .bytes(let bytes) = value else { return nil }
        text = String(decoding: bytes, as: UTF8.self)
    }
}

/// One row of an answer.
package struct StateRow: Sendable {
    let values: [StateValue]
    /// The names of the columns.
    let columns: [String]

    /// Precondition: the schema defines the column with this type.
    subscript<Value: StateColumn>(index: Int) -> Value {
        guard let value = Value(values[index]) else {
            preconditionFailure("column \(columns[index]) is not of type \(Value.self)")
        }
        return value
    }

    subscript<Value: StateColumn>(name: String) -> Value {
        guard let index = columns.firstIndex(of: name) else { preconditionFailure("no column \(name)") }
        return self[index]
    }
}
