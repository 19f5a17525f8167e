/// A parameter of a statement, or a field of a row.
///
/// The statement determines the SQL type of a parameter: `$1::smallint[]` accepts `.text("{1,2}")`.
package enum PostgresValue: Sendable, Equatable {
    case null
    /// Also a boolean in a result: 0 or 1.
    case int(Int)
    /// Must not contain U+0000, which PostgreSQL can't store.
    case text(String)
    case bytes([UInt8])
    case double(Double)
}

extension PostgresValue {
    /// Nil for anything but ``int(_:)``.
    package var int: Int? { if case .int(let value) = self { value } else { nil } }
    /// Nil for anything but ``text(_:)``.
    package var text: String? { if case .text(let value) = self { value } else { nil } }
    /// Nil for anything but ``bytes(_:)``.
    package var bytes: [UInt8]? { if case .bytes(let value) = self { value } else { nil } }
    /// Nil for anything but ``double(_:)``.
    package var double: Double? { if case .double(let value) = self { value } else { nil } }
}

extension PostgresValue: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral, ExpressibleByNilLiteral {
    /// ``int(_:)``
    package init(integerLiteral value: Int) { self = .int(value) }
    /// ``text(_:)``
    package init(stringLiteral value: String) { self = .text(value) }
    /// ``null``
    package init(nilLiteral: ()) { self = .null }
}
