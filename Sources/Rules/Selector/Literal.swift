internal import LosslessJSON

/// A value that a selector compares with.
struct Literal: Sendable {
    let value: JSONValue

    init(_ node: SourceNode) { value = node.jsonText.root }

    /// Equality of `$all` for elements: the same Erlang term, strings by their bytes, and 1 is not 1.0.
    func isSameTerm(as other: JSONValue) -> Bool {
        isEqualTerm(to: other) && Self.haveSameNumberTypes(other, value)
    }

    /// Equality of `$all` for a whole array: as Erlang terms, but 1 equals 1.0.
    func isEqualTerm(to other: JSONValue) -> Bool { ErlangTermOrder.compare(other, value) == .equal }

    /// - Precondition: The two are equal terms.
    private static func haveSameNumberTypes(_ left: JSONValue, _ right: JSONValue) -> Bool {
        switch left.kind {
        case .null, .false, .true, .string: true
        case .number: left.isInteger == right.isInteger
        case .array: zip(left.elements, right.elements).allSatisfy { haveSameNumberTypes($0, $1) }
        case .object: zip(left.members, right.members).allSatisfy { haveSameNumberTypes($0.value, $1.value) }
        }
    }
}

extension JSONValue {
    /// Whether this is a number without fraction or exponent.
    var isInteger: Bool {
        guard kind == .number else { return false }
        return bytes.allSatisfy { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }
    }
}
