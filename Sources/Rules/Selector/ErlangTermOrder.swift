internal import LosslessJSON

/// Erlang's order of terms, by which CouchDB compares the `_id` of a document: numbers, then false, null and true, then
/// objects, arrays and strings. Strings by their bytes.
///
/// - Note: Source: CouchDB 3.5 `mango_json:cmp_raw`; checked against recorded answers of a real server.
enum ErlangTermOrder {
    /// Recurses as deep as the shallower of the two values.
    static func compare(_ left: JSONValue, _ right: JSONValue) -> JSONOrdering {
        guard left.kind == right.kind else { return order(rank(left.kind), rank(right.kind)) }
        switch left.kind {
        case .null, .false, .true: return .equal
        case .number: return JSONCollation.compare(left, right)
        case .string: return compareStrings(left, right)
        case .array:
            var others = right.elements
            for element in left.elements {
                guard let other = others.next() else { return .greater }
                let result = compare(element, other)
                if result != .equal { return result }
            }
            return others.next() == nil ? .equal : .less
        case .object:
            var others = right.members
            for member in left.members {
                guard let other = others.next() else { return .greater }
                let names = compareStrings(member.name, other.name)
                if names != .equal { return names }
                let values = compare(member.value, other.value)
                if values != .equal { return values }
            }
            return others.next() == nil ? .equal : .less
        }
    }

    private static func rank(_ kind: JSONKind) -> Int {
        switch kind {
        case .number: 0
        case .false: 1
        case .null: 2
        case .true: 3
        case .object: 4
        case .array: 5
        case .string: 6
        }
    }

    private static func compareStrings(_ left: JSONValue, _ right: JSONValue) -> JSONOrdering {
        if left.isEscaped || right.isEscaped { return compareBytes(left.utf8 ?? [], right.utf8 ?? []) }
        return compareBytes(left.rawContent, right.rawContent)
    }

    private static func compareBytes(_ left: some Sequence<UInt8>, _ right: some Sequence<UInt8>) -> JSONOrdering {
        var others = right.makeIterator()
        for byte in left {
            guard let other = others.next() else { return .greater }
            if byte != other { return order(Int(byte), Int(other)) }
        }
        return others.next() == nil ? .equal : .less
    }

    private static func order(_ left: Int, _ right: Int) -> JSONOrdering {
        left < right ? .less : left > right ? .greater : .equal
    }
}

/// The order in which values are compared.
enum ValueOrder: Sendable {
    case collation
    /// For the field `_id` and below it.
    case terms

    func compare(_ value: JSONValue, _ literal: Literal) -> JSONOrdering {
        switch self {
        case .collation: JSONCollation.compare(value, literal.value)
        case .terms: ErlangTermOrder.compare(value, literal.value)
        }
    }

    func areEqual(_ value: JSONValue, _ literal: Literal) -> Bool {
        switch self {
        case .collation: JSONCollation.areEqual(value, literal.value)
        case .terms: ErlangTermOrder.compare(value, literal.value) == .equal
        }
    }
}
