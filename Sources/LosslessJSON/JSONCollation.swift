internal import CICU

/// Less, equal or greater.
public enum JSONOrdering: Int8, Sendable {
    case less = -1
    case equal = 0
    case greater = 1

    var reversed: JSONOrdering {
        switch self {
        case .less: .greater
        case .equal: .equal
        case .greater: .less
        }
    }

    init<Value: Comparable>(_ left: Value, _ right: Value) {
        self = left < right ? .less : left > right ? .greater : .equal
    }
}

/// CouchDB's order of JSON values: null, false, true, numbers, strings, arrays, objects.
///
/// Strings stand in ICU's root collation, arrays and objects are compared element by element and member by member in
/// the order of the text, the shorter one first.
///
/// - Note: Source: CouchDB 3.5 `couch_ejson_compare`; held against recorded answers of a real server.
public enum JSONCollation {
    /// Recurses as deep as the shallower of the two.
    public static func compare(_ left: JSONValue, _ right: JSONValue) -> JSONOrdering {
        guard left.kind == right.kind else { return JSONOrdering(left.kind, right.kind) }
        switch left.kind {
        case .null, .false, .true: return .equal
        case .number: return JSONNumber(left).compare(JSONNumber(right))
        case .string: return compareStrings(left, right)
        case .array:
            var others = right.elements
            for element in left.elements {
                guard let other = others.next() else { return .greater }
                let order = compare(element, other)
                if order != .equal { return order }
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

    /// Equality in the same sense, which can often be told without the collator: different printable ASCII strings
    /// never collate as equal.
    public static func areEqual(_ left: JSONValue, _ right: JSONValue) -> Bool {
        guard left.kind == right.kind else { return false }
        if left.isPlainASCII, right.isPlainASCII, !left.hasDelete, !right.hasDelete {
            return left.rawContent == right.rawContent
        }
        return compare(left, right) == .equal
    }

    /// Compares two strings, given as UTF-8, in ICU root collation.
    public static func compareStrings(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> JSONOrdering {
        if left.elementsEqual(right) { return .equal }
        let order = withContiguousBytes(left) { left in
            withContiguousBytes(right) { right in
                cicu_compare(
                    collator.pointer, left.baseAddress, Int32(left.count), right.baseAddress, Int32(right.count))
            }
        }
        return JSONOrdering(order, 0)
    }

    private static func compareStrings(_ left: JSONValue, _ right: JSONValue) -> JSONOrdering {
        if !left.isEscaped, !right.isEscaped { return compareStrings(left.rawContent, right.rawContent) }
        return compareStrings(left.utf8 ?? [], right.utf8 ?? [])
    }

    private static func withContiguousBytes<Result>(
        _ bytes: some Collection<UInt8>, _ body: (UnsafeBufferPointer<CChar>) -> Result
    ) -> Result {
        bytes.withContiguousStorageIfAvailable { $0.withMemoryRebound(to: CChar.self, body) }
            ?? Array(bytes).withUnsafeBufferPointer { $0.withMemoryRebound(to: CChar.self, body) }
    }

    /// Opened at the first comparison that needs it, so that whoever never collates does not load ICU's data.
    private static let collator = Collator()

    private struct Collator: @unchecked Sendable {
        let pointer: UnsafeMutableRawPointer

        init() {
            guard let pointer = cicu_open_root_collator() else {
                preconditionFailure("ICU has no root collation data")
            }
            self.pointer = pointer
        }
    }
}

extension JSONValue {
    /// DEL is the one ASCII character that strings may hold unescaped and that collation ignores.
    fileprivate var hasDelete: Bool { rawContent.contains(0x7F) }
}
