internal import LosslessJSON

/// A value that a selector compares with.
struct Literal: Sendable {
    let value: JSONValue

    init(_ node: SourceNode) { value = node.jsonText.root }

    /// Equal as `$eq` means it: in CouchDB's collation.
    func equals(_ other: JSONValue) -> Bool { JSONCollation.areEqual(other, value) }

    /// Equal as `$all` means it: the same Erlang term. Strings by their bytes, and 1 is not 1.0.
    func isSameTerm(as other: JSONValue) -> Bool { Self.areSame(other, value, isStrict: true) }

    /// Equal as `$all` compares a whole array: the same Erlang term, but 1 and 1.0 are equal.
    func isEqualTerm(to other: JSONValue) -> Bool { Self.areSame(other, value, isStrict: false) }

    /// Recurses as deep as the shallower of the two.
    private static func areSame(_ left: JSONValue, _ right: JSONValue, isStrict: Bool) -> Bool {
        guard left.kind == right.kind else { return false }
        switch left.kind {
        case .null, .false, .true: return true
        case .number:
            return (!isStrict || left.isInteger == right.isInteger) && JSONCollation.compare(left, right) == .equal
        case .string: return areSameStrings(left, right)
        case .array:
            var others = right.elements
            for element in left.elements {
                guard let other = others.next(), areSame(element, other, isStrict: isStrict) else { return false }
            }
            return others.next() == nil
        case .object:
            var others = right.members
            for member in left.members {
                guard let other = others.next(), areSameStrings(member.name, other.name),
                    areSame(member.value, other.value, isStrict: isStrict)
                else { return false }
            }
            return others.next() == nil
        }
    }

    private static func areSameStrings(_ left: JSONValue, _ right: JSONValue) -> Bool {
        left.isEscaped || right.isEscaped ? left.utf8 == right.utf8 : left.rawContent == right.rawContent
    }
}

extension JSONValue {
    /// Whether this is a number without fraction and exponent.
    var isInteger: Bool {
        guard kind == .number else { return false }
        return bytes.allSatisfy { $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }
    }
}
